#pragma once

#include <string>

namespace wireproof::app {

/// The version in the project's CMakeLists.txt.
std::string version();

}  // namespace wireproof::app
