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
            const std::uint64_t at = ticks();
            if (at - read_at_ < keep_for) return last_;
            read_at_ = at;
        }
        last_ = clock_.now();
        return last_;
    }
    /// The clock behind it.
    const SteadyClock& steady() const { return clock_; }

private:
    static constexpr std::uint64_t keep_for = 1024;  // ticks; processors make 1 to 5 a nanosecond

    SteadyClock clock_;
    bool kept_ = ticks_are_steady();
    std::uint64_t read_at_ = ticks() - keep_for;
    Instant last_;
};

}  // namespace wireproof::host
