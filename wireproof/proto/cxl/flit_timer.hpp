// A timer of a flit link. On a continuous line it counts the flits that this end sends (CXL-25);
// on demand it runs for as many flit times.
#pragma once

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/cxl/config.hpp"

namespace wireproof::cxl {

class FlitTimer {
public:
    explicit FlitTimer(const Config& config)
        : continuous_(config.continuous), flit_time_(config.flit_time) {}

    void start(Instant now, std::uint32_t flits) { start(now, flits, flit_time_ * flits); }
    /// `wait` instead of the flit times, on demand.
    void start(Instant now, std::uint32_t flits, Duration wait) {
        if (continuous_) {
            left_ = flits;
        } else {
            deadline_ = now + wait;
        }
    }
    void stop() {
        left_ = 0;
        deadline_ = never;
    }
    bool running() const { return left_ > 0 || deadline_ != never; }

    /// A flit has left. True: the timer has expired, and stops.
    bool count() { return left_ > 0 && --left_ == 0; }
    /// True: the timer has expired, and stops.
    bool on_deadline(Instant now) {
        if (deadline_ > now) return false;
        deadline_ = never;
        return true;
    }
    Instant deadline() const { return deadline_; }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(left_);
        sink.add_deadline(deadline_, now);
    }

private:
    bool continuous_;
    Duration flit_time_;
    std::uint32_t left_ = 0;
    Instant deadline_ = never;
};

}  // namespace wireproof::cxl
