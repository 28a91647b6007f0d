// Checks of a program: whether the loader gives it our libraries.
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "wireproof/cli/doctor_checks.hpp"
#include "wireproof/cli/drop_in.hpp"
#include "wireproof/cli/elf_file.hpp"
#include "wireproof/cli/mapped_file.hpp"

namespace wireproof::cli {
namespace {

constexpr const char* program_word = "program";

/// Searches for the program as execvp does. The result is empty if there is none.
std::string path_of(const std::string& program) {
    if (program.find('/') != program.npos) return is_file(program) ? program : "";
    const char* const path = std::getenv("PATH");
    std::istringstream folders(path != nullptr ? path : "/bin:/usr/bin");
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string candidate = (folder.empty() ? "." : folder) + "/" + program;
        if (is_file(candidate) && ::access(candidate.c_str(), X_OK) == 0) return candidate;
    }
    return {};
}

/// The program that runs a script. The result is empty if the file is not a script.
std::string interpreter_of(ConstBytes file) {
    if (file.size() < 2 || file[0] != std::byte{'#'} || file[1] != std::byte{'!'}) return {};
    std::string line;
    for (std::size_t i = 2; i < file.size() && i < 256 && file[i] != std::byte{'\n'}; ++i) {
        line += static_cast<char>(file[i]);
    }
    std::istringstream words(line);
    std::string first;
    std::string second;
    words >> first >> second;
    const bool is_env = first.size() >= 4 && first.substr(first.size() - 4) == "/env";
    return is_env && !second.empty() ? path_of(second) : first;
}

/// Checks whether the program would run with the rights of another user. The kernel tells the
/// loader (AT_SECURE), which then ignores our settings.
Check check_rights(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0) {
        return failed(program_word, path + ": " + std::strerror(errno), "check the name");
    }
    const bool user = (status.st_mode & S_ISUID) != 0 && status.st_uid != ::getuid();
    const bool group = (status.st_mode & S_ISGID) != 0 && status.st_gid != ::getgid();
    const bool capable =
        ::getuid() != 0 && ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
    if (user || group || capable) {
        return failed("rights",
                      capable ? "it has file capabilities, so the loader ignores LD_LIBRARY_PATH"
                              : "it is setuid or setgid, so the loader ignores LD_LIBRARY_PATH",
                      "run a copy without them: cp makes one");
    }
    return healthy("rights", "it runs with your rights only");
}

/// `through`: the library that loads libibverbs.
Check check_needs(const ElfFile& elf, const std::string& through) {
    for (const std::string& one : elf.needed) {
        for (const char* const name : {"libibverbs.so.1", "librdmacm.so.1", "libfabric.so.1"}) {
            if (one == name) return healthy("links", "it is linked with " + one);
        }
    }
    if (!through.empty()) return healthy("links", "it loads libibverbs.so.1 through " + through);
    return warned("links", "it is not itself linked with libibverbs",
                  "nothing, if it loads that when it runs, as UCX and NCCL do");
}

void check_elf(const std::string& path, const ElfFile& elf, std::vector<Check>& checks) {
    if (!elf.of_this_machine) {
        checks.push_back(failed(program_word, "it is of another machine than our libraries",
                                "build it for this one"));
        return;
    }
    if (!elf.has_loader) {
        checks.push_back(failed(program_word, "it is statically linked, so no library reaches it",
                                "link it dynamically; of Go, with CGO_ENABLED=1"));
        return;
    }
    checks.push_back(healthy(program_word, "it is dynamically linked"));
    std::vector<Check> of_libraries;
    checks.push_back(check_needs(elf, check_libraries(path, elf, of_libraries)));
    checks.insert(checks.end(), of_libraries.begin(), of_libraries.end());
}

}  // namespace

std::vector<Check> check_program(const std::string& program) {
    std::string path = path_of(program);
    if (path.empty()) {
        return {failed(program_word, program + " is not there, or cannot be run",
                       "check the name, or install it")};
    }
    std::vector<Check> checks;
    MappedFile file(path);
    if (const std::string interpreter = interpreter_of(file.bytes()); !interpreter.empty()) {
        checks.push_back(healthy(program_word, "it is a script that " + interpreter + " runs"));
        path = interpreter;
    }
    checks.push_back(check_rights(path));
    if (checks.back().health == Health::failure) return checks;
    const MappedFile image(path);
    if (image.bytes().empty()) {
        checks.push_back(
            warned(program_word, path + " cannot be read", "none: it may run all the same"));
    } else if (const auto elf = read_elf(image.bytes())) {
        check_elf(path, *elf, checks);
    } else {
        checks.push_back(
            failed(program_word, path + " is no program of this system", "check the name"));
    }
    return checks;
}

}  // namespace wireproof::cli
