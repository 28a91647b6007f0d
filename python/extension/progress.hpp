// The progress of a simulation: it lets Python handle signals, and stops if Python says so.
#pragma once

#include <chrono>

#include "errors.hpp"

#include "wireproof/lab.h"

namespace wireproof::python {

class Progress {
public:
    /// `callback` is a function of Python or None. After `seconds`, the point of a sweep is
    /// stopped; 0: never.
    explicit Progress(py::object callback, double seconds = 0)
        : callback_(std::move(callback)), seconds_(seconds) {}

    /// For the library. It runs without the GIL; `user` is this object.
    static int on_share(double share, void* user) {
        return static_cast<Progress*>(user)->run(share);
    }

    /// Throws what the callback, or the handler of a signal, threw. Otherwise checks the status.
    void check(wireproof_status status, const Why& why) {
        error_.rethrow();
        why.check(status);
    }

private:
    using Clock = std::chrono::steady_clock;

    int run(double share) {
        const py::gil_scoped_acquire gil;
        if (PyErr_CheckSignals() != 0) {
            error_.take(Py_None);
        } else if (!callback_.is_none()) {
            run_kept(error_, callback_.ptr(), [&] { callback_(share); });
        }
        if (error_.is_set()) return WIREPROOF_STOP;
        const std::chrono::duration<double> passed = Clock::now() - start_;
        return seconds_ > 0 && passed.count() > seconds_ ? WIREPROOF_STOP_POINT : WIREPROOF_GO_ON;
    }

    py::object callback_;
    double seconds_;
    Clock::time_point start_ = Clock::now();
    KeptError error_;
};

}  // namespace wireproof::python
