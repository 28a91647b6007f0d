// Decides when a poll loop first looks at memory that another processor will write. A look fetches
// the cache line, and the writer must take it back before it can write: half a round trip then
// moves the line twice instead of once. So the loop skips the rounds in which the answer cannot be
// there yet. Earlier waits show how many these are. In the mode round-trip of bench/am_path,
// with processors apart, this reduced half a round trip from 315-324 ns to 251-265 ns.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/host/relax.hpp"

namespace wireproof::host {

/// Belongs to one loop. It counts rounds and not time, because to read a clock takes half a round.
/// Time only limits the delay, in case rounds become slower.
class PollDelay {
public:
    /// The longest time before the first look.
    static constexpr Duration longest = Duration::nanoseconds(1000);

    /// The caller has asked for an answer: a wait begins.
    void begin(Instant now) {
        looks_ = 0;
        kind_ = ++waits_ % waits_a_try == 0 ? Wait::tried : Wait::usual;
        to_pass_ = passes_ / (kind_ == Wait::tried ? 2 * parts : parts);
        until_ = now + longest;
    }
    /// Whether the loop looks in this round. The loop must ask in each round.
    bool is_due(Instant now) {
        if (to_pass_ == 0) return true;
        if (now < until_) {
            --to_pass_;
            return false;
        }
        to_pass_ = 0;
        passes_ /= 4;  // rounds have become slower
        looks_ = looks_far;
        return true;
    }
    /// A wait has begun, and the answer has not come yet.
    bool waits() const { return kind_ != Wait::amid; }
    /// The loop has looked in this round and found nothing.
    void in_vain() {
        if (++looks_ > looks_at_once) relax();
    }
    /// The answer has come: the wait ends. The next wait skips more or fewer rounds.
    void came() {
        learn();
        kind_ = Wait::amid;
        looks_ = to_pass_ = 0;
    }

    /// The number of rounds that the next wait skips.
    std::uint32_t rounds_to_pass() const { return passes_ / parts; }

private:
    enum class Wait : std::uint8_t { usual, tried, amid };

    // If answers take equally long, one first look in five is too early. It costs as much as the
    // other four gain, because each of these is an eighth of a round less late.
    static constexpr std::uint32_t parts = 8;
    // Some answers may come much sooner than others. To notice this, one wait in waits_a_try looks
    // after half of the rounds.
    static constexpr std::uint32_t waits_a_try = 64;
    static constexpr std::uint32_t in_time_most = 16;  // in a row; usually one in five is early
    static constexpr std::uint32_t looks_near = 16;
    static constexpr std::uint32_t looks_far = 512;
    // A peer on a close processor answers within fewer looks. A peer on a processor further away
    // writes its line a tenth sooner if the loop does not fetch the line all the time.
    static constexpr std::uint32_t looks_at_once = 32;

    void learn() {
        if (kind_ != Wait::usual) {
            if (kind_ == Wait::tried && looks_ == 0) passes_ /= 4;
            return;
        }
        if (looks_ == 0) {  // the first look found the answer: in time, or late by an unknown time
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
    std::uint32_t to_pass_ = 0;  // rounds that this wait still skips
    std::uint32_t looks_ = 0;    // looks of this wait that found nothing
    std::uint32_t in_time_ = 0;  // waits in a row whose first look found the answer
    std::uint32_t last_wait_ = 0;
    std::uint32_t waits_ = 0;
    Wait kind_ = Wait::amid;
    Instant until_;
};

}  // namespace wireproof::host
