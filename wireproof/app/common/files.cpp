#include "wireproof/app/common/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <span>
#include <string_view>
#include <system_error>

#include "wireproof/app/common/interrupt.hpp"

namespace wireproof::app {
namespace {

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? "." : path.substr(0, slash + 1);
}

// The path at which the kernel shows an open file, so that a file without a name can get one.
std::string shown_at(int file) {
    return fmt::format("/proc/self/fd/{}", file);
}

// The part file is in the folder of the final file, because a rename cannot leave the file system.
// Its name is short even if the final name is long, because names have a limit. It has a number,
// because a killed run may have left a part file.
std::string part_name(const std::string& path, int number) {
    return fmt::format("{}wireproof-{}-{}.part", folder_of(path), ::getpid(), number);
}

// Tries names until `make` returns 0 or an error other than EEXIST.
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

// Names by which Linux calls an open file of this process. It is written directly, because other
// processes also have it open.
bool names_open_file(const std::string& path) {
    for (const std::string_view prefix : {"/dev/std", "/dev/fd/", "/proc/self/fd/"}) {
        if (path.starts_with(prefix)) return true;
    }
    return false;
}

/// Follows symbolic links. The last one may point to a file that does not exist yet. Sets `error`
/// to ELOOP if there are too many.
std::string link_target(const std::string& path, int& error) {
    constexpr int most_links = 40;  // the limit of the kernel
    std::filesystem::path target = path;
    for (int links = 0;; ++links) {
        std::error_code problem;
        const std::filesystem::path next = std::filesystem::read_symlink(target, problem);
        if (problem) return target.string();
        if (links == most_links) break;
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    error = ELOOP;
    return path;
}

void wait_for_room(int file) {
    pollfd waiting{.fd = file, .events = POLLOUT, .revents = 0};
    ::poll(&waiting, 1, -1);
}

}  // namespace

bool is_standard_output(const std::string& path) {
    return path == "-" || path == "/dev/stdout" || path == "/dev/fd/1" || path == "/proc/self/fd/1";
}

void check_output(const std::string& path) {
    struct stat status {};
    const bool there = !is_standard_output(path) && ::stat(path.c_str(), &status) == 0;
    if (!there || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) {
        const OutputFile file(path);
        return;
    }
    if (::access(path.c_str(), W_OK) != 0) {
        throw Failure(fmt::format("cannot write {}: {}", path, std::strerror(errno)));
    }
}

void check_regular(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return;
    throw Failure(fmt::format("cannot add to {}: it is not a regular file", path));
}

InputFile::InputFile(const std::string& path) : path_(path) {
    // Nonblocking: otherwise opening a FIFO would wait for a writer.
    file_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file_.is_open())
        throw Failure(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    struct stat status {};
    std::string problem;
    if (::fstat(file_.handle(), &status) != 0) {
        problem = std::strerror(errno);
    } else if (S_ISDIR(status.st_mode)) {
        problem = "it is a directory";
    } else if (!S_ISREG(status.st_mode)) {
        problem = "it is not a regular file";
    } else if (char byte = 0; ::pread(file_.handle(), &byte, 1, 0) < 0) {
        problem = std::strerror(errno);
    } else if (status.st_size == 0 && ::pread(file_.handle(), &byte, 1, 0) == 1) {
        problem = "it does not say how long it is";  // for example the files in /proc
    }
    size_ = static_cast<std::uint64_t>(status.st_size);
    if (!problem.empty()) throw Failure(fmt::format("cannot read {}: {}", path, problem));
}

void InputFile::read(std::uint64_t offset, Bytes to) const {
    while (!to.empty()) {
        const ssize_t got =
            ::pread(file_.handle(), to.data(), to.size(), static_cast<off_t>(offset));
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) throw Failure(fmt::format("cannot read {}: {}", path_, std::strerror(errno)));
        if (got == 0) throw Failure(fmt::format("cannot read {}: it became shorter", path_));
        offset += static_cast<std::uint64_t>(got);
        to = to.subspan(static_cast<std::size_t>(got));
    }
}

std::string text_of_file(const std::string& path, std::optional<std::uint64_t> most_mib) {
    const InputFile input(path);
    if (most_mib && input.size() > *most_mib << 20) {
        throw Failure(fmt::format("{} is longer than {} MiB", path, *most_mib));
    }
    std::string text(input.size(), '\0');
    input.read(0, std::as_writable_bytes(std::span(text)));
    return text;
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
    if (path_.empty()) return;
    if (is_standard_output(path_) || names_open_file(path_)) {
        open_device();
        return;
    }
    int error = 0;
    target_ = link_target(path_, error);
    if (error != 0) fail(error);
    struct stat status {};
    const bool there = ::stat(target_.c_str(), &status) == 0;
    if (there && S_ISDIR(status.st_mode)) fail(EISDIR);
    if (there && !S_ISREG(status.st_mode)) {
        open_device();
        return;
    }
    // A rename would replace a file even if the caller may not write it.
    if (there && ::access(target_.c_str(), W_OK) != 0) fail(errno);
    open_new();
    if (there) keep_mode({status.st_mode & 07777U, status.st_uid, status.st_gid});
}

void OutputFile::open_device() {
    kind_ = Kind::device;
    file_ = Descriptor(is_standard_output(path_) ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0)
                                                 : ::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
    if (!file_.is_open()) fail(errno);
}

void OutputFile::open_new() {
    if (target_.back() == '/') fail(EISDIR);
    if (!open_nameless()) open_part();
}

// The owner comes first: a change of the owner removes bits of the mode.
void OutputFile::keep_mode(const FileOwner& replaced) const {
    const bool owned = ::fchown(file_.handle(), replaced.user, replaced.group) == 0;
    // Another owner must not get the bits that run a program as its owner.
    const std::uint32_t mode = owned ? replaced.mode : replaced.mode & 0777U;
    ::fchmod(file_.handle(), mode);
}

// A file without a name leaves nothing in the folder, even if its process is killed.
bool OutputFile::open_nameless() {
    file_ = Descriptor(::open(folder_of(target_).c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666));
    if (!file_.is_open()) return false;
    kind_ = Kind::nameless;
    if (::access(shown_at(file_.handle()).c_str(), F_OK) == 0) return true;
    file_.close();
    return false;
}

void OutputFile::open_part() {
    kind_ = Kind::part;
    const int error = with_part_name(target_, part_, [this](const char* name) {
        file_ = Descriptor(::open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
        return file_.is_open() ? 0 : errno;
    });
    if (error != 0) fail(error);
}

OutputFile::~OutputFile() {
    if (!part_.empty()) ::unlink(part_.c_str());
}

void OutputFile::fail(int error) const {
    check_interrupt();  // a signal may be the cause of the error
    throw Failure(fmt::format("cannot write {}: {}", path_, std::strerror(error)));
}

void OutputFile::reserve(std::uint64_t size) {
    if (kind_ == Kind::nothing || kind_ == Kind::device || size == 0) return;
    // posix_fallocate of the C library writes zeros if the file system cannot reserve. That takes
    // longer than a peer waits.
    if (::fallocate(file_.handle(), 0, 0, static_cast<off_t>(size)) == 0) return;
    if (errno == ENOSPC || errno == EDQUOT || errno == EFBIG) fail(errno);
}

void OutputFile::write(std::uint64_t offset, ConstBytes bytes) {
    if (!file_.is_open()) return;
    written_ = written_ || !bytes.empty();
    while (!bytes.empty()) {
        // A pipe or terminal has no offsets; the caller writes the pieces in order.
        const ssize_t put =
            kind_ == Kind::device
                ? ::write(file_.handle(), bytes.data(), bytes.size())
                : ::pwrite(file_.handle(), bytes.data(), bytes.size(), static_cast<off_t>(offset));
        if (put < 0 && errno == EINTR) {
            check_interrupt();
            continue;
        }
        if (put < 0 && errno == EAGAIN) {
            wait_for_room(file_.handle());
            check_interrupt();
            continue;
        }
        if (put < 0) fail(errno);
        offset += static_cast<std::uint64_t>(put);
        bytes = bytes.subspan(static_cast<std::size_t>(put));
    }
}

bool OutputFile::begin_anew() {
    if (kind_ == Kind::device) return !written_;
    return !file_.is_open() || ::ftruncate(file_.handle(), 0) == 0;
}

void OutputFile::finish() {
    if (!file_.is_open()) return;
    if (kind_ == Kind::nameless) name_nameless();
    if (const int error = file_.close(); error != 0) fail(error);
    if (part_.empty()) return;
    if (std::rename(part_.c_str(), target_.c_str()) != 0) fail(errno);
    part_.clear();
}

// linkat() does not replace an existing file; only a rename does that in one step. So the file
// first gets a temporary name.
void OutputFile::name_nameless() {
    const auto link_as = [this](const char* name) {
        const std::string shown = shown_at(file_.handle());
        return ::linkat(AT_FDCWD, shown.c_str(), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0 ? 0
                                                                                         : errno;
    };
    const int error = link_as(target_.c_str());
    if (error == 0) return;
    if (error != EEXIST) fail(error);
    if (const int second = with_part_name(target_, part_, link_as); second != 0) fail(second);
}

}  // namespace wireproof::app
