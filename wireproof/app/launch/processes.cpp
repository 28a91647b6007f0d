#include "wireproof/app/launch/processes.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>

#include "wireproof/app/launch/job.hpp"
#include "wireproof/os/pipe.hpp"

namespace wireproof::launch {
namespace {

/// Signals the groups and forgets those that are gone.
void signal_all(std::set<pid_t>& groups, int signal) {
    std::erase_if(groups, [&](pid_t group) { return ::kill(-group, signal) != 0; });
}

void end_groups(std::set<pid_t>& groups) {
    signal_all(groups, SIGTERM);
    signal_all(groups, SIGCONT);
    constexpr int looks = 40;
    constexpr auto look = grace.nanoseconds() / 1'000 / looks;
    for (int i = 0; i < looks && !groups.empty(); ++i) {
        ::usleep(static_cast<useconds_t>(look));
        signal_all(groups, 0);
    }
    signal_all(groups, SIGKILL);
}

[[noreturn]] void watch(int pipe) {
    sigset_t all;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, nullptr);
    // Whoever reads the launcher's output must not wait for this process.
    const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        ::dup2(nothing, standard);
    }
    constexpr int first_other = STDERR_FILENO + 1;
    if (pipe != first_other) pipe = ::dup2(pipe, first_other);
    ::close_range(first_other + 1, ~0U, 0);
    std::set<pid_t> groups;
    std::array<pid_t, 256> numbers;
    while (true) {
        const ssize_t got = ::read(pipe, numbers.data(), sizeof numbers);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        for (std::size_t i = 0; i < static_cast<std::size_t>(got) / sizeof(pid_t); ++i) {
            if (numbers[i] > 0) groups.insert(numbers[i]);
            if (numbers[i] < 0) groups.erase(-numbers[i]);
        }
    }
    end_groups(groups);
    ::_exit(0);
}

/// In the new process. Returns errno if the program cannot be run.
int become(const Start& start) {
    ::setpgid(0, 0);
    if (start.watch != nullptr) start.watch->add(::getpid());
    int input = start.input;
    if (input < 0) input = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0 || ::dup2(input, STDIN_FILENO) < 0) return errno;
    if (start.output >= 0 && ::dup2(start.output, STDOUT_FILENO) < 0) return errno;
    if (start.errors >= 0 && ::dup2(start.errors, STDERR_FILENO) < 0) return errno;
    // If the launcher runs in a job of another launcher, its ranks are not those of that job.
    for (const char* other : {"PMIX_NAMESPACE", "PMIX_RANK", "PMI_FD", "WIREPROOF_LAUNCHER"}) {
        ::unsetenv(other);
    }
    for (const auto& [name, value] : start.variables) ::setenv(name.c_str(), value.c_str(), 1);
    if (start.before_exec) start.before_exec();
    std::vector<char*> arguments;
    for (const std::string& one : start.command) {
        arguments.push_back(const_cast<char*>(one.c_str()));
    }
    arguments.push_back(nullptr);
    ::execvp(arguments[0], arguments.data());
    return errno;
}

}  // namespace

Expected<EndWatch> EndWatch::start() {
    Pipe pipe = Pipe::make();
    if (!pipe.is_open()) return unexpected(std::string("cannot make a pipe: ") + ::strerror(errno));
    const pid_t process = ::fork();
    if (process < 0) return unexpected(std::string("cannot fork: ") + ::strerror(errno));
    if (process == 0) {
        pipe.to.close();
        watch(pipe.from.handle());
    }
    // A signal to the launcher's group must not end the watch, which may not have run yet.
    ::setpgid(process, process);
    return EndWatch(process, std::move(pipe.to));
}

EndWatch::~EndWatch() {
    if (!pipe_.is_open()) return;  // moved from
    pipe_.close();
    while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
    }
}

void EndWatch::tell(pid_t number) const {
    while (::write(pipe_.handle(), &number, sizeof number) < 0 && errno == EINTR) {
    }
}

ExpectedOr<pid_t, NotStarted> start(const Start& start) {
    Pipe failure = Pipe::make();  // ends without a byte when the program runs
    if (!failure.is_open()) return tl::unexpected(NotStarted{"cannot make a pipe", errno, false});
    const pid_t process = ::fork();
    if (process < 0) return tl::unexpected(NotStarted{"cannot fork", errno, false});
    if (process == 0) {
        const int error = become(start);
        if (::write(failure.to.handle(), &error, sizeof error) != ssize_t{sizeof error})
            ::_exit(126);
        ::_exit(127);
    }
    ::setpgid(process, process);  // fails if the new process has done it and runs the program
    failure.to.close();
    int error = 0;
    ssize_t got = 0;
    do {
        got = ::read(failure.from.handle(), &error, sizeof error);
    } while (got < 0 && errno == EINTR);
    if (got != ssize_t{sizeof error}) return process;
    if (start.watch != nullptr) start.watch->remove(process);
    ::waitpid(process, nullptr, 0);
    return tl::unexpected(NotStarted{"cannot run " + start.command[0], error, true});
}

}  // namespace wireproof::launch
