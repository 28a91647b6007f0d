#include "wireproof/app/launch/signals.hpp"

#include <sys/signalfd.h>
#include <unistd.h>

namespace wireproof::launch {

Signals::Signals() {
    struct sigaction fresh {};
    fresh.sa_handler = SIG_DFL;  // if it were ignored, the kernel would not keep exit codes
    ::sigaction(SIGCHLD, &fresh, nullptr);
    sigset_t wanted;
    ::sigemptyset(&wanted);
    ::sigaddset(&wanted, SIGCHLD);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT}) {
        struct sigaction action {};
        ::sigaction(signal, nullptr, &action);
        if (action.sa_handler != SIG_IGN) ::sigaddset(&wanted, signal);
    }
    ::sigprocmask(SIG_BLOCK, &wanted, &before_);
    handle_ = Descriptor(::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC));
}

int Signals::next() const {
    signalfd_siginfo info{};
    const bool got = ::read(handle_.handle(), &info, sizeof info) == ssize_t{sizeof info};
    return got ? static_cast<int>(info.ssi_signo) : 0;
}

}  // namespace wireproof::launch
