// The timer limits of the data link layer, from width, speed and largest payload (base
// specification 3.6, non-flit; docs/rules/pcie.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/base/instant.hpp"

namespace wireproof::pcie {

/// Transfers a second and lane: 2.5, 5 and 8 GT/s and above.
enum class Speed : std::uint8_t { gen1, gen2, gen3, gen4, gen5 };

struct LinkRate {
    Speed speed = Speed::gen1;
    std::uint32_t width = 1;  // lanes: 1, 2, 4, 8, 12, 16 or 32

    /// A byte of one lane: 4 ns at 2.5 GT/s. At 8 GT/s and above the framing of blocks is not
    /// counted.
    Duration symbol_time() const;
    std::uint64_t bytes_per_second() const;
    /// Of `bytes` on the link, rounded up to a picosecond.
    Duration time_of(std::size_t bytes) const;
};

/// Symbol times from a frame's end until what it asks for begins to leave.
std::uint32_t internal_delay(Speed speed);

/// Symbol times; `payload_max` is 128, 256, 512 … 4096 bytes.
std::uint32_t ack_latency_limit(LinkRate rate, std::size_t payload_max);
/// Three times that; tolerance -0 % to +100 %.
std::uint32_t replay_limit(LinkRate rate, std::size_t payload_max);

}  // namespace wireproof::pcie
