// The window of a flow that shares a full queue with flows of CUBIC (RFC 9438). After a loss it
// grows fast towards the size at which the loss came, slowly near that size, and fast beyond it.
// It grows at least as fast as Reno does on average.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::congestion {

/// A regular value without a clock.
class CubicGrowth {
public:
    /// Begins at `packets`, without a loss so far. The window never grows beyond `most`.
    CubicGrowth(Instant now, std::uint32_t packets, std::uint32_t most);

    std::uint32_t packets() const { return static_cast<std::uint32_t>(window_ / one); }
    /// `fast`: until the first loss, the window grows by an eighth in each round trip.
    void on_arrived(Instant now, std::uint32_t packets, Duration rtt, bool fast = false);
    /// Shrinks the window, at most once in `rtt`.
    void on_lost(Instant now, Duration rtt);

    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    // Sizes are in 1/1024 of a packet, so that growth by less than a packet adds up.
    static constexpr std::uint64_t one = 1024;
    static constexpr std::uint64_t least = 2 * one;

    std::uint64_t cubic(Duration since_loss) const;

    std::uint64_t most_;
    std::uint64_t window_;
    std::uint64_t reno_;        // what Reno would have since the last loss
    std::uint64_t before_;      // the window at which the last loss came
    std::int64_t plateau_ = 0;  // when the window reaches `before_`: milliseconds after the loss
    bool lost_ = false;         // at least once
    Instant since_;             // the last loss, or the begin
};

}  // namespace wireproof::congestion
