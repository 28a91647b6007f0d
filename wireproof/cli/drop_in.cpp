#include "wireproof/cli/drop_in.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace wireproof::cli {
namespace {

namespace fs = std::filesystem;

// Paths from the folder of the command: bin/ of an installation, or wireproof/cli/ of a build tree.
constexpr const char* installed = "..";
constexpr const char* built = "../..";

std::string before(const std::string& first, const char* variable) {
    const char* const rest = std::getenv(variable);
    return rest == nullptr || *rest == '\0' ? first : first + ":" + rest;
}

}  // namespace

bool is_file(const std::string& path) {
    std::error_code error;
    return fs::is_regular_file(path, error);
}

std::vector<std::string> drop_in_folders() {
    std::error_code error;
    const fs::path command = fs::read_symlink("/proc/self/exe", error);
    std::vector<std::string> folders;
    const fs::path beside = command.parent_path();
    for (const fs::path& libraries : {beside / installed / WIREPROOF_LIBDIR,
                                      beside / installed / "lib", beside / built / "lib"}) {
        const std::string folder = (libraries / "wireproof").lexically_normal();
        if (folders.empty() || folders.back() != folder) folders.push_back(folder);
    }
    return folders;
}

std::string find_drop_in() {
    for (const std::string& folder : drop_in_folders()) {
        if (is_file(folder + "/" + drop_in_library)) return folder;
    }
    return {};
}

LoaderVariables loader_variables(const std::string& folder) {
    LoaderVariables variables{.library_path = before(folder, "LD_LIBRARY_PATH")};
    const std::string hooks = folder + "/" + hooks_library;
    if (is_file(hooks)) {
        variables.preload = before(hooks, "LD_PRELOAD");
        variables.sanitizer = before("verify_asan_link_order=0", "ASAN_OPTIONS");
    }
    return variables;
}

}  // namespace wireproof::cli
