// The steady clock for a caller that asks again and again in a loop. It asks the system only every
// few microseconds. In between, it uses the processor's own counter.
#pragma once

#include <algorithm>

#include "wireproof/host/steady_clock.hpp"
#include "wireproof/host/ticks.hpp"

namespace wireproof::host {

/// The counter of the processor that runs the caller.
struct ProcessorTicks {
    static std::uint64_t now() { return ticks(); }
    static bool are_steady() { return ticks_are_steady(); }
};

/// `Clock` and `Ticks` are those of this machine, or of one that a test models.
template <class Clock, class Ticks>
class SpinClockOf {
public:
    /// Never ahead of the steady clock, and at most about a microsecond behind it. It may be some
    /// nanoseconds ahead only while the system slews the clock by more than a thousandth.
    Instant now() {
        if (!kept_) return read();
        looked_at_ = Ticks::now();
        const std::uint64_t gone = looked_at_ - read_at_;
        if (gone >= keep_for_) return read();
        const Duration since_read(static_cast<std::int64_t>(gone * rate_ >> rate_bits));
        last_ = std::max(last_, at_read_ + since_read);  // counters of processors may differ
        return last_;
    }
    /// Like now(), for the next round of a loop that found nothing to do. If eight such rounds take
    /// less than half a microsecond, it reads the counter in only one of them, because the read
    /// would take half of each round.
    Instant again() {
        if (kept_ && quick_ && ++rounds_ % 8 != 0) return last_;
        const std::uint64_t before = looked_at_;
        const Instant at = now();
        quick_ = looked_at_ - before < short_while;
        return at;
    }
    /// The steady clock that it asks.
    const Clock& steady() const { return clock_; }

private:
    // In ticks. Processors make 1 to 5 ticks per nanosecond.
    static constexpr std::uint64_t short_while = 1024;
    static constexpr std::uint64_t long_while = 16 * short_while;
    static constexpr std::uint64_t learning = std::uint64_t{1} << 22;  // until the rate is known
    static constexpr std::uint64_t learning_most = std::uint64_t{1} << 34;
    static constexpr unsigned rate_bits = 20;
    static constexpr double least_tick = 100;  // picoseconds
    static constexpr double longest_tick = 2000;
    // The rate is reduced by this share. The share covers errors of the measurement and a slewed
    // system clock. In the long while, it is some nanoseconds.
    static constexpr double caution = 1.0 / 1024;

    [[gnu::noinline]] Instant read() {
        const std::uint64_t before = Ticks::now();
        const Instant at = clock_.now();
        read_at_ = looked_at_ = Ticks::now();
        at_read_ = last_ = std::max(last_, at);
        if (read_at_ - before < short_while) {
            if (kept_) learn(at);
        } else {
            read_at_ -= long_while;  // the age of this reading is unknown: the next call asks again
        }
        return last_;
    }

    // Computes the counter's rate since the reading of the last computation. The time between two
    // computations doubles, up to some seconds, so a jump of either clock is forgotten.
    void learn(Instant at) {
        const std::uint64_t gone = read_at_ - learnt_at_;  // huge if the counter began again
        if (gone < learn_after_) return;
        const double picoseconds = static_cast<double>((at - learnt_).picoseconds());
        const double a_tick = picoseconds / static_cast<double>(gone) * (1 - caution);
        const bool likely = learnt_at_ != 0 && a_tick > least_tick && a_tick < longest_tick;
        rate_ = likely ? static_cast<std::uint64_t>(a_tick * (1 << rate_bits)) : 0;
        keep_for_ = likely ? long_while : short_while;
        learn_after_ = likely ? std::min(learn_after_ * 2, learning_most) : learning;
        learnt_ = at;
        learnt_at_ = read_at_;
    }

    Clock clock_;
    bool kept_ = Ticks::are_steady();
    std::uint64_t keep_for_ = short_while;
    std::uint64_t rate_ = 0;  // picoseconds per tick, times 2^rate_bits; 0 until it is known
    std::uint64_t read_at_ = Ticks::now() - short_while;
    Instant at_read_;
    Instant last_;
    std::uint64_t looked_at_ = 0;
    Instant learnt_;
    std::uint64_t learnt_at_ = 0;  // 0: never
    std::uint64_t learn_after_ = 0;
    std::uint32_t rounds_ = 0;
    bool quick_ = false;
};

using SpinClock = SpinClockOf<SteadyClock, ProcessorTicks>;

}  // namespace wireproof::host
