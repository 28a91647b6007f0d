// Where the libraries lie that a program finds in the place of Debian's libibverbs.
#pragma once

#include <string>
#include <vector>

namespace wireproof::cli {

inline constexpr const char* drop_in_library = "libibverbs.so.1";
inline constexpr const char* hooks_library = "libwireproof-hooks.so";

/// Beside this command: as it is installed, and in a build tree; absolute.
std::vector<std::string> drop_in_folders();
/// The first of these that has the library; empty: none has.
std::string find_drop_in();

bool is_file(const std::string& path);

/// What to set in a program's environment, so that it finds the libraries of `folder` first.
struct LoaderVariables {
    std::string library_path = {};  // LD_LIBRARY_PATH
    std::string preload = {};       // LD_PRELOAD; empty: leave it as it is
};
/// Of this process's own environment and the folder.
LoaderVariables loader_variables(const std::string& folder);

}  // namespace wireproof::cli
