#include "wireproof/cli/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "wireproof/cli/interrupt.hpp"

namespace wireproof::cli {
namespace {

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// Where the kernel shows an open file, so that one without a name can be given one.
std::string shown_at(int file) {
    return fmt::format("/proc/self/fd/{}", file);
}

// Beside the file it will be, for a rename cannot leave the file system; short whatever that
// file's name is, for names have a limit; numbered, because a killed run may have left one.
std::string part_name(const std::string& path, int number) {
    return fmt::format("{}wireproof-{}-{}.part", folder_of(path), ::getpid(), number);
}

// Tries names until `make` returns 0 or fails for another reason than that the name is taken.
template <class Make>
int with_part_name(const std::string& path, std::string& name, Make&& make) {
    constexpr int tries = 100;
    int error = EEXIST;
    for (int number = 0; number < tries && error == EEXIST; ++number) {
        name = part_name(path, number);
        error = make(name.c_str());
    }
    if (error != 0) name.clear();
    return error;
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
    // Nonblocking, or opening a FIFO would wait for who writes to it.
    file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file_ < 0) throw Failure(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    struct stat status {};
    std::string problem;
    if (::fstat(file_, &status) != 0) {
        problem = std::strerror(errno);
    } else if (S_ISDIR(status.st_mode)) {
        problem = "it is a directory";
    } else if (!S_ISREG(status.st_mode)) {
        problem = "it is not a regular file";
    } else if (char byte = 0; ::pread(file_, &byte, 1, 0) < 0) {
        problem = std::strerror(errno);
    } else if (status.st_size == 0 && ::pread(file_, &byte, 1, 0) == 1) {
        problem = "it does not say how long it is";  // as those in /proc
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (problem.empty()) return;
    ::close(file_);
    throw Failure(fmt::format("cannot read {}: {}", path, problem));
}

InputFile::~InputFile() {
    ::close(file_);
}

void InputFile::read(std::uint64_t offset, Bytes to) const {
    while (!to.empty()) {
        const ssize_t got = ::pread(file_, to.data(), to.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw Failure(fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
        if (got == 0) throw Failure(fmt::format("cannot read {}: it became shorter", path_));
        offset += static_cast<std::uint64_t>(got);
        to = to.subspan(static_cast<std::size_t>(got));
    }
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    struct stat status {};
    const bool there = ::stat(path_.c_str(), &status) == 0;
    if (there && S_ISDIR(status.st_mode)) fail(EISDIR);
    if (there && !S_ISREG(status.st_mode)) {
        kind_ = Kind::device;
        file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
        if (file_ < 0) fail(errno);
    } else {
        open_new();
    }
}

void OutputFile::open_new() {
    if (path_.back() == '/') fail(EISDIR);
    if (!open_nameless()) open_part();
}

// A file without a name leaves nothing behind, even if its process is killed.
bool OutputFile::open_nameless() {
    file_ = ::open(folder_of(path_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
    if (file_ < 0) return false;
    kind_ = Kind::nameless;
    if (::access(shown_at(file_).c_str(), F_OK) == 0) return true;
    ::close(file_);
    return false;
}

void OutputFile::open_part() {
    kind_ = Kind::part;
    const int error = with_part_name(path_, part_, [this](const char* name) {
        file_ = ::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        return file_ < 0 ? errno : 0;
    });
    if (error != 0) fail(error);
}

OutputFile::~OutputFile() {
    if (file_ >= 0) ::close(file_);
    if (!part_.empty()) ::unlink(part_.c_str());
}

void OutputFile::fail(int error) const {
    check_interrupt();  // which may have been the error
    throw Failure(fmt::format("cannot write {}: {}", path_, std::strerror(error)));
}

void OutputFile::reserve(std::uint64_t size) {
    if (kind_ == Kind::nothing || kind_ == Kind::device || size == 0) return;
    // The C library's posix_fallocate writes zeros where a file system cannot do it; that takes
    // longer than a peer waits.
    if (::fallocate(file_, 0, 0, static_cast<off_t>(size)) == 0) return;
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) fail(errno);
}

void OutputFile::write(std::uint64_t offset, ConstBytes bytes) {
    if (file_ < 0) return;
    while (!bytes.empty()) {
        // A pipe or terminal has no offsets; pieces are written in order anyway.
        const ssize_t put = kind_ == Kind::device ? ::write(file_, bytes.data(), bytes.size())
                                                  : ::pwrite(file_, bytes.data(), bytes.size(),
                                                             static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) {
            check_interrupt();
            continue;
        }
        if (put < 0) fail(errno);
        offset += static_cast<std::uint64_t>(put);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
}

void OutputFile::finish() {
    if (file_ < 0) return;
    if (kind_ == Kind::nameless) name_nameless();
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0) fail(errno);
    if (part_.empty()) return;
    if (std::rename(part_.c_str(), path_.c_str()) != 0) fail(errno);
    part_.clear();
}

// The name may be taken, and only a rename replaces a file in one step: hence a second name.
void OutputFile::name_nameless() {
    const auto link_as = [this](const char* name) {
        const std::string shown = shown_at(file_);
        return ::linkat(AT_FDCWD, shown.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0
                                                                                         : errno;
    };
    const int error = link_as(path_.c_str());
    if (error == 0) return;
    if (error != EEXIST) fail(error);
    if (const int second = with_part_name(path_, part_, link_as); second != 0) fail(second);
}

}  // namespace wireproof::cli
