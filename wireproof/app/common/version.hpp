#pragma once

#include <string>

namespace wireproof::cli {

/// The version in the project's CMakeLists.txt.
std::string version();

}  // namespace wireproof::cli
