// Finds the libraries that a program loads in the place of Debian's libibverbs.
#pragma once

#include <string>
#include <vector>

namespace wireproof::cli {

inline constexpr const char* drop_in_library = "libibverbs.so.1";
inline constexpr const char* hooks_library = "libwireproof-hooks.so";

/// Folders that may have the libraries: those of an installation and of a build tree. The paths are
/// absolute and start from this command's own folder.
std::vector<std::string> drop_in_folders();
/// The first of these folders that has the library. The result is empty if none has it.
std::string find_drop_in();

bool is_file(const std::string& path);

/// The variables that make a program find the libraries of `folder` first.
struct LoaderVariables {
    std::string library_path = {};  // LD_LIBRARY_PATH
    std::string preload = {};       // LD_PRELOAD; empty: leave it as it is
    /// ASAN_OPTIONS; empty: leave it as it is. A program that gcc built with the address sanitizer
    /// ends if a preloaded library comes before the sanitizer's. The hooks may.
    std::string sanitizer = {};
};
/// Puts `folder` in front of the present values in this process's environment.
LoaderVariables loader_variables(const std::string& folder);

}  // namespace wireproof::cli
