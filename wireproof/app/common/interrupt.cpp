#include "wireproof/app/common/interrupt.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstring>

namespace wireproof::app {
namespace {

// A signal handler may safely set only a variable of this type.
volatile std::sig_atomic_t caught = 0;

void note(int signal) {
    caught = signal;
}

}  // namespace

Interrupted::Interrupted(int signal)
    : Failure(fmt::format("interrupted ({})", ::strsignal(signal))), signal_(signal) {}

void catch_interrupts() {
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction action {};
        // If the parent process ignored a signal (nohup, a background job of a shell), it stays
        // ignored.
        if (::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN) continue;
        action = {};
        action.sa_handler = note;
        action.sa_flags = static_cast<int>(SA_RESETHAND);
        ::sigaction(signal, &action, nullptr);
    }
}

bool is_interrupted() {
    return caught != 0;
}

void check_interrupt() {
    if (caught != 0) throw Interrupted(caught);
}

}  // namespace wireproof::app
