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

}  // namespace

void ChildReport::set_failure(const std::string& why) {
    const std::size_t length = std::min(why.size(), failure.size() - 1);
    // If the text is too long, its end is kept: the reason is there.
    std::copy(why.end() - static_cast<std::ptrdiff_t>(length), why.end(), failure.begin());
}

ReceivingProcess::ReceivingProcess(const std::function<ChildReport()>& life) {
    if (!pipe_.is_open()) {
        throw Failure(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    pid_ = ::fork();
    if (pid_ == 0) live(life);
    if (pid_ < 0) throw Failure(fmt::format("cannot fork: {}", std::strerror(errno)));
    pipe_.to.close();
}

void ReceivingProcess::live(const std::function<ChildReport()>& life) {
    pipe_.from.close();
    ChildReport report;
    try {
        report = life();
    } catch (const std::exception& failure) {
        report.set_failure(failure.what());
    }
    const bool told = ::write(pipe_.to.handle(), &report, sizeof report) == ssize_t{sizeof report};
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
}

const std::optional<ChildReport>& ReceivingProcess::report(Duration patience) {
    if (report_ || !wait_for_bytes(patience)) return report_;
    ChildReport told;
    if (::read(pipe_.from.handle(), &told, sizeof told) == ssize_t{sizeof told}) {
        told.failure.back() = '\0';
        report_ = told;
    }
    collect();
    return report_;
}

// The pipe is also readable if the child ended without a report, because its end is then closed.
bool ReceivingProcess::wait_for_bytes(Duration patience) const {
    pollfd wanted{};
    wanted.fd = pipe_.from.handle();
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
