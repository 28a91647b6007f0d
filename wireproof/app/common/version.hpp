#pragma once

#include <string>

namespace wireproof::cli {

/// As in the project's CMakeLists.txt.
std::string version();

}  // namespace wireproof::cli
