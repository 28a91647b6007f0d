// The timer limits of the data link layer for a width, a speed and a largest payload (base
// specification 3.6, non-flit; docs/rules/pcie.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/base/instant.hpp"

namespace wireproof::pcie {

/// Transfers per second on each lane: gen1 2.5, gen2 5, and from gen3 on 8 GT/s and more.
enum class Speed : std::uint8_t { gen1, gen2, gen3, gen4, gen5 };

struct LinkRate {
    Speed speed = Speed::gen1;
    std::uint32_t width = 1;  // lanes: 1, 2, 4, 8, 12, 16 or 32

    /// The time of one byte on one lane: 4 ns at 2.5 GT/s. At 8 GT/s and above, the framing of
    /// blocks is not counted.
    Duration symbol_time() const;
    std::uint64_t bytes_per_second() const;
    /// The time of `bytes` on the link, rounded up to a picosecond.
    Duration time_of(std::size_t bytes) const;
};

/// Symbol times from the end of a received frame until the answer begins to leave.
std::uint32_t internal_delay(Speed speed);

/// In symbol times. `payload_max` is 128, 256, 512 … 4096 bytes.
std::uint32_t ack_latency_limit(LinkRate rate, std::size_t payload_max);
/// Three times ack_latency_limit, in symbol times. The tolerance is -0 % to +100 %.
std::uint32_t replay_limit(LinkRate rate, std::size_t payload_max);

}  // namespace wireproof::pcie
