// The steady clock for who asks again and again in a loop: it looks at real time only when some
// hundred nanoseconds have gone by on the processor's own counter, and else answers as before.
#pragma once

#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/ticks.hpp"

namespace wireproof::host {

class SpinClock {
public:
    /// At most about a microsecond old.
    Instant now() {
        if (kept_) {
            looked_at_ = ticks();
            if (looked_at_ - read_at_ < keep_for) return last_;
            read_at_ = looked_at_;
        }
        last_ = clock_.now();
        return last_;
    }
    /// now() for the next round of a loop that found nothing to do. Where eight such rounds take
    /// less than that microsecond it looks only in one of them: to read the counter would be half
    /// of each.
    Instant again() {
        if (kept_ && quick_ && ++rounds_ % 8 != 0) return last_;
        const std::uint64_t before = looked_at_;
        const Instant at = now();
        quick_ = looked_at_ - before < keep_for;
        return at;
    }
    /// The clock behind it.
    const SteadyClock& steady() const { return clock_; }

private:
    static constexpr std::uint64_t keep_for = 1024;  // ticks; processors make 1 to 5 a nanosecond

    SteadyClock clock_;
    bool kept_ = ticks_are_steady();
    std::uint64_t read_at_ = ticks() - keep_for;
    Instant last_;
    std::uint64_t looked_at_ = 0;
    std::uint32_t rounds_ = 0;
    bool quick_ = false;
};

}  // namespace wireproof::host
