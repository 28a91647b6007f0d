// Checks of a program: whether the loader lets our libraries reach it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
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

namespace wireproof::cli {
namespace {

constexpr const char* program_word = "program";

/// As execvp looks for it; empty: it is not there.
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

/// The bytes of a file for as long as this lives; none if it cannot be read.
class MappedFile {
public:
    explicit MappedFile(const std::string& path) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat status {};
        if (file >= 0 && ::fstat(file, &status) == 0 && status.st_size > 0) {
            size_ = static_cast<std::size_t>(status.st_size);
            start_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
        }
        if (file >= 0) ::close(file);
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() {
        if (start_ != MAP_FAILED) ::munmap(start_, size_);
    }
    ConstBytes bytes() const {
        if (start_ == MAP_FAILED) return {};
        return {static_cast<const std::byte*>(start_), size_};
    }

private:
    void* start_ = MAP_FAILED;
    std::size_t size_ = 0;
};

/// The program that runs a script; empty: it is none.
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

/// Whether the kernel tells the loader that it runs with the rights of another (AT_SECURE).
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

Check check_needs(const ElfFile& elf) {
    for (const std::string& one : elf.needed) {
        for (const char* const name : {"libibverbs.so.1", "librdmacm.so.1", "libfabric.so.1"}) {
            if (one == name) return healthy("links", "it is linked with " + one);
        }
    }
    return warned("links", "it is not itself linked with libibverbs",
                  "nothing, if it loads that when it runs, as UCX and NCCL do");
}

void check_elf(const ElfFile& elf, std::vector<Check>& checks) {
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
    checks.push_back(check_needs(elf));
    if (elf.rpath.empty() || elf.has_run_path) return;
    std::istringstream folders(elf.rpath);
    for (std::string folder; std::getline(folders, folder, ':');) {
        const std::string library = folder + "/" + drop_in_library;
        if (!is_file(library)) continue;
        checks.push_back(failed("links", "its RPATH has it load " + library + " first",
                                "set a RUNPATH instead: patchelf --set-rpath"));
    }
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
        check_elf(*elf, checks);
    } else {
        checks.push_back(
            failed(program_word, path + " is no program of this system", "check the name"));
    }
    return checks;
}

}  // namespace wireproof::cli
