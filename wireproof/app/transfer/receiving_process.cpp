#include "wireproof/app/transfer/receiving_process.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/text.hpp"

namespace wireproof::app {
namespace {

// How long a child may take to end after it was asked to.
constexpr Duration grace = Duration::milliseconds(1'000);

void close_end(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
}

}  // namespace

void ChildReport::set_failure(const std::string& why) {
    const std::size_t length = std::min(why.size(), failure.size() - 1);
    // If the text is too long, its end is kept: the reason is there.
    std::copy(why.end() - static_cast<std::ptrdiff_t>(length), why.end(), failure.begin());
}

ReceivingProcess::ReceivingProcess(const std::function<ChildReport()>& life) {
    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) {
        throw Failure(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    from_child_ = ends[0];
    to_parent_ = ends[1];
    pid_ = ::fork();
    if (pid_ == 0) live(life);
    const int error = errno;
    close_end(to_parent_);
    if (pid_ > 0) return;
    close_end(from_child_);
    throw Failure(fmt::format("cannot fork: {}", std::strerror(error)));
}

void ReceivingProcess::live(const std::function<ChildReport()>& life) {
    close_end(from_child_);
    ChildReport report;
    try {
        report = life();
    } catch (const std::exception& failure) {
        report.set_failure(failure.what());
    }
    const bool told = ::write(to_parent_, &report, sizeof report) == ssize_t{sizeof report};
    if (!told && report.failure[0] != '\0') {
        tell(fmt::format("wireproof: {}", report.failure.data()));
    }
    // Not exit(): the child must not write the output that its parent had buffered.
    ::_exit(told && report.verified ? 0 : exit_failed);
}

ReceivingProcess::~ReceivingProcess() {
    stop();
    if (pid_ > 0 && !report(grace)) ::kill(pid_, SIGKILL);
    if (pid_ > 0) ::waitpid(pid_, nullptr, 0);
    close_end(from_child_);
}

const std::optional<ChildReport>& ReceivingProcess::report(Duration patience) {
    if (report_ || !wait_for_bytes(patience)) return report_;
    ChildReport told;
    if (::read(from_child_, &told, sizeof told) == ssize_t{sizeof told}) {
        told.failure.back() = '\0';
        report_ = told;
    }
    collect();
    return report_;
}

// The pipe is also readable if the child ended without a report, because its end is then closed.
bool ReceivingProcess::wait_for_bytes(Duration patience) const {
    pollfd wanted{};
    wanted.fd = from_child_;
    wanted.events = POLLIN;
    const auto milliseconds = static_cast<int>(patience.nanoseconds() / 1'000'000);
    return ::poll(&wanted, 1, milliseconds) > 0;
}

void ReceivingProcess::collect() {
    if (pid_ <= 0) return;
    if (::waitpid(pid_, &status_, 0) == pid_) pid_ = 0;
}

std::string ReceivingProcess::failure() {
    if (report()) return report_->failure.data();
    if (pid_ > 0) return {};
    if (!WIFSIGNALED(status_)) return "ended and gave no reason";
    return fmt::format("was ended by signal {} ({})", WTERMSIG(status_),
                       ::strsignal(WTERMSIG(status_)));
}

void ReceivingProcess::stop() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGTERM);
    ::kill(pid_, SIGCONT);  // a stopped process receives SIGTERM only after it continues
}

}  // namespace wireproof::app
