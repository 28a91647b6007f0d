// When a poll loop first looks at memory that another processor is to write. A look fetches the
// cache line, and the writer must take it back before it can write: half a round trip then moves
// the line twice instead of once. So the loop passes the rounds in which the answer cannot be there
// yet, as many as earlier waits have shown, and looks then. By bench/half_round_trip, processors
// apart, 315 to 324 ns became 251 to 265.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/relax.hpp"

namespace wireproof::host {

/// Belongs to one loop. It counts rounds and not time, because to read a clock takes half a round;
/// time only bounds the delay, should the rounds become slower.
class PollDelay {
public:
    /// The longest time before the first look.
    static constexpr Duration longest = Duration::nanoseconds(1000);

    /// The answer was asked for: a wait begins.
    void begin(Instant now) {
        looks_ = 0;
        kind_ = ++waits_ % waits_a_try == 0 ? Wait::tried : Wait::usual;
        to_pass_ = passes_ / (kind_ == Wait::tried ? 2 * parts : parts);
        until_ = now + longest;
    }
    /// Asked in each round: whether it looks.
    bool is_due(Instant now) {
        if (to_pass_ == 0) return true;
        if (now < until_) {
            --to_pass_;
            return false;
        }
        to_pass_ = 0;
        passes_ /= 4;  // rounds are not what they were
        looks_ = looks_far;
        return true;
    }
    /// A wait has begun, and the answer has not come.
    bool waits() const { return kind_ != Wait::amid; }
    /// The round looked, and nothing was there.
    void in_vain() {
        if (++looks_ > looks_at_once) relax();
    }
    /// The answer was there: the wait ends, and the next one passes more rounds or fewer.
    void came() {
        learn();
        kind_ = Wait::amid;
        looks_ = to_pass_ = 0;
    }

    /// Rounds that the next wait passes.
    std::uint32_t rounds_to_pass() const { return passes_ / parts; }

private:
    enum class Wait : std::uint8_t { usual, tried, amid };

    // Where answers take equally long, one look in five is too soon: it costs as much as four that
    // are an eighth of a round less late each.
    static constexpr std::uint32_t parts = 8;
    // Where some come much sooner than others, one in so many tells: it looks half way.
    static constexpr std::uint32_t waits_a_try = 64;
    static constexpr std::uint32_t in_time_most = 16;  // in a row, where one in five is usual
    static constexpr std::uint32_t looks_near = 16;
    static constexpr std::uint32_t looks_far = 512;
    // A peer on a near processor answers within fewer. One that is farther off writes its line a
    // tenth sooner if it is not asked for all the time.
    static constexpr std::uint32_t looks_at_once = 32;

    void learn() {
        if (kind_ != Wait::usual) {
            if (kind_ == Wait::tried && looks_ == 0) passes_ /= 4;
            return;
        }
        if (looks_ == 0) {  // in time, or late by an unknown time
            const bool in_doubt = ++in_time_ > in_time_most;
            passes_ -= in_doubt ? share(passes_) : std::min(passes_, 1U);
            return;
        }
        in_time_ = 0;
        const std::uint32_t wait = passes_ / parts + looks_;
        const std::uint32_t apart = wait > last_wait_ ? wait - last_wait_ : last_wait_ - wait;
        if (looks_ <= looks_near) {
            passes_ += parts / 2;
        } else if (looks_ < looks_far && apart <= last_wait_ / 4) {
            passes_ += parts;
        } else {
            passes_ -= share(passes_);
        }
        last_wait_ = wait;
    }
    static std::uint32_t share(std::uint32_t passes) { return (passes + parts - 1) / parts; }

    std::uint32_t passes_ = 0;   // in parts of a round
    std::uint32_t to_pass_ = 0;  // rounds of this wait
    std::uint32_t looks_ = 0;    // of this wait, in vain
    std::uint32_t in_time_ = 0;  // waits in a row
    std::uint32_t last_wait_ = 0;
    std::uint32_t waits_ = 0;
    Wait kind_ = Wait::amid;
    Instant until_;
};

}  // namespace wireproof::host
