#include "wireproof/host/memory_guard.hpp"

#include <array>
#include <csignal>
#include <cstdint>

#include "wireproof/base/publish.hpp"

namespace wireproof::host {
namespace detail {

thread_local sigjmp_buf* volatile way_out = nullptr;

}  // namespace detail

namespace {

using Action = struct sigaction;

/// The program's handler of one signal. Another thread may be about to call the previous handler,
/// so the last eight stay.
struct Programs {
    int signal;
    std::array<Action, 8> kept{};
    std::atomic<std::size_t> newest = 0;

    const Action& now() const { return kept[newest.load() % kept.size()]; }
    void set(const Action& action) {
        const std::size_t next = newest.load() + 1;
        kept[next % kept.size()] = action;
        newest.store(next);
    }
};

Programs programs_segv{.signal = SIGSEGV};
Programs programs_bus{.signal = SIGBUS};

/// The stack frame of our handler while it calls the program's handler. That handler may call ours,
/// or set ours again and raise the signal: then nobody handles the fault. The value is stale if the
/// program's handler jumped out.
thread_local std::uintptr_t volatile passing_on __attribute__((tls_model("initial-exec"))) = 0;

bool calls_itself(std::uintptr_t frame) {
    constexpr std::uintptr_t near = 1 << 20;  // the same stack, which grows downwards
    return passing_on > frame && passing_on - frame < near;
}

// A fault happens again as soon as the handler returns. A signal from another process or from
// raise() does not.
void end_as_by_default(int signal, const siginfo_t& info) {
    ::signal(signal, SIG_DFL);
    if (info.si_code <= 0) ::raise(signal);
}

void pass_on(int signal, siginfo_t* info, void* context) {
    const Action programs = (signal == SIGSEGV ? programs_segv : programs_bus).now();
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    const bool ignored = programs.sa_handler == SIG_IGN && info->si_code <= 0;
    if (ignored) return;
    if (programs.sa_handler == SIG_DFL || programs.sa_handler == SIG_IGN || calls_itself(frame)) {
        end_as_by_default(signal, *info);
        return;
    }
    passing_on = frame;
    if ((programs.sa_flags & SA_SIGINFO) != 0) {
        programs.sa_sigaction(signal, info, context);
    } else {
        programs.sa_handler(signal);
    }
    passing_on = 0;
}

void on_fault(int signal, siginfo_t* info, void* context) {
    sigjmp_buf* const way_out = detail::way_out;
    if (way_out != nullptr && info->si_code > 0) siglongjmp(*way_out, 1);
    pass_on(signal, info, context);
}

void keep_handler(Programs& programs) {
    Action now{};
    ::sigaction(programs.signal, nullptr, &now);
    if ((now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == &on_fault) return;
    programs.set(now);
    Action ours{};
    ours.sa_sigaction = &on_fault;
    // After a jump out of the handler, the signal must not stay blocked (SA_NODEFER). A thread with
    // a small stack may have another stack for signals (SA_ONSTACK).
    ours.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
    ::sigemptyset(&ours.sa_mask);
    ::sigaction(programs.signal, &ours, nullptr);
}

}  // namespace

void keep_memory_guard(Instant now) {
    constexpr Duration again = Duration::milliseconds(1);
    thread_local Instant due;
    if (now < due) return;
    due = now + again;
    keep_handler(programs_segv);
    keep_handler(programs_bus);
    // A fault while its signal is blocked ends the process.
    sigset_t faults;
    ::sigemptyset(&faults);
    ::sigaddset(&faults, SIGSEGV);
    ::sigaddset(&faults, SIGBUS);
    ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

bool copy_guarded(std::byte* to, const std::byte* from, std::size_t size) {
    return guarded([&] { copy_last_word_last(to, from, size); });
}

}  // namespace wireproof::host
