// The signals that a launcher gets, in its loop.
#pragma once

#include <csignal>

#include "wireproof/os/descriptor.hpp"

namespace wireproof::launch {

/// Whether the sender of the signal wants the job to end. The others are only passed on.
inline bool ends_a_job(int signal) {
    return signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
}

/// While it lives, these signals do not reach the process otherwise. A signal that the launcher's
/// parent ignored stays ignored (nohup).
class Signals {
public:
    Signals();
    ~Signals() { restore(); }
    Signals(const Signals&) = delete;
    Signals& operator=(const Signals&) = delete;

    void restore() const { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }
    /// Negative: the system has no descriptor for it. Otherwise readable if there is a signal.
    int handle() const { return handle_.handle(); }
    /// 0: none.
    int next() const;

private:
    sigset_t before_{};
    Descriptor handle_;
};

}  // namespace wireproof::launch
