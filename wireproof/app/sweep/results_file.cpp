#include "wireproof/app/sweep/results_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/files.hpp"
#include "wireproof/app/common/text.hpp"

namespace wireproof::app {
namespace {

bool same_file(int file, const std::string& path) {
    struct stat open {};
    struct stat named {};
    return ::fstat(file, &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
           open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

/// Throws if another run has the file. `kind`: LOCK_EX or LOCK_SH.
void take_lock(int file, int kind, const std::string& path) {
    int taken = 0;
    do {
        taken = ::flock(file, kind | LOCK_NB);
    } while (taken != 0 && errno == EINTR);
    if (taken == 0) return;
    if (errno == EWOULDBLOCK) throw Failure(fmt::format("{}: another run is writing it", path));
    throw Failure(fmt::format("cannot lock {}: {}", path, std::strerror(errno)));
}

/// The number of bytes up to the last line feed.
std::size_t whole_lines(const std::string& text) {
    return text.rfind('\n') + 1;  // npos + 1 is 0
}

void tell_torn(const std::string& path) {
    tell(fmt::format("wireproof: {}: the last line is incomplete and was dropped", path));
}

}  // namespace

ResultsFile::ResultsFile(std::string path) : path_(std::move(path)) {
    check_regular(path_);
    while (!lock()) {
    }
    text_ = text_of_file(path_, std::nullopt);
    torn_ = whole_lines(text_) < text_.size();
    text_.resize(whole_lines(text_));
}

void ResultsFile::fail() const {
    throw Failure(fmt::format("cannot write {}: {}", path_, std::strerror(errno)));
}

// False: between open() and flock(), another run has replaced the file and ended.
bool ResultsFile::lock() {
    file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (!file_.is_open()) fail();
    take_lock(file_.handle(), LOCK_EX, path_);
    return same_file(file_.handle(), path_);
}

void ResultsFile::drop_torn_line() {
    if (!torn_) return;
    if (::ftruncate(file_.handle(), static_cast<off_t>(text_.size())) != 0) fail();
    torn_ = false;
    tell_torn(path_);
}

void ResultsFile::append(const std::string& line) {
    for (std::size_t at = 0; at < line.size();) {
        const ssize_t put = ::write(file_.handle(), line.data() + at, line.size() - at);
        if (put < 0 && errno == EINTR) continue;
        if (put < 0) fail();
        at += static_cast<std::size_t>(put);
    }
}

void ResultsFile::replace(const std::string& text) {
    OutputFile file(path_);
    file.write(0, std::as_bytes(std::span(text)));
    file.finish();
}

std::string finished_results(const std::string& path) {
    check_regular(path);
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open())
        throw Failure(fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    take_lock(file.handle(), LOCK_SH, path);
    std::string text = text_of_file(path, std::nullopt);
    const std::size_t whole = whole_lines(text);
    if (whole < text.size()) tell_torn(path);
    text.resize(whole);
    return text;
}

}  // namespace wireproof::app
