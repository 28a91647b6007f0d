// All settings of a PCI Express data link.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/proto/pcie/timing.hpp"

namespace wireproof::pcie {

/// The three kinds of TLPs. Each has its own credits.
enum class FlowType : std::uint8_t { posted = 0, non_posted = 1, completion = 2 };
inline constexpr std::size_t flow_types = 3;

/// Room that a receiver advertises. 0 in a field means infinite.
struct Credits {
    std::uint32_t headers = 0;  // TLPs, at most 127
    std::uint32_t data = 0;     // units of 16 bytes, at most 2047
    friend bool operator==(Credits, Credits) = default;
};

struct Config {
    std::size_t payload_max = 4096;  // the longest message of a TLP, bytes
    Duration byte_time{};            // of a byte on the link; 0: frames take no time (datagrams)

    std::uint32_t modulus = 4096;      // of sequence numbers; even
    std::uint32_t first_number = 0;    // number of the first TLP; the same at both ends
    std::uint32_t replay_slots = 256;  // TLPs that wait or are unacknowledged
    std::uint32_t outstanding = 2047;  // unacknowledged TLPs, below half the modulus
    // The caller keeps messages in place until they are acknowledged, so the engine does not copy
    // them.
    bool payload_lent = false;
    std::array<Credits, flow_types> credits{};  // that this end advertises

    Duration ack_latency = Duration::microseconds(1);  // AckNak_LATENCY_TIMER
    // An Ack leaves at once after this many TLPs; 0: only by the timer.
    std::uint32_t ack_after = 0;
    Duration replay_after = Duration::microseconds(3);  // REPLAY_TIMER
    /// For links whose round trip is not known beforehand: after it is measured, REPLAY_TIMER falls
    /// to three round trips, but not below this value. 0: REPLAY_TIMER does not change.
    Duration replay_floor{};
    /// For a path that is shared with other traffic: while no Ack comes, REPLAY_TIMER doubles and a
    /// replay shrinks to its first TLP (core/backoff.hpp). Off on a link, where the standard fixes
    /// both.
    bool backs_off = false;
    Duration retrain_time = Duration::microseconds(10);
    /// If a damaged TLP or a TLP ahead ends later than this after the TLP that caused the last Nak,
    /// the receiver sends another Nak. 0: never, as in the standard. Then only REPLAY_TIMER
    /// recovers a resent TLP that is damaged.
    Duration renak_after{};

    Duration init_every = Duration::microseconds(34);  // InitFC triples
    // UpdateFC of credits that are not infinite.
    Duration update_every = Duration::microseconds(30);
    /// UpdateFC also for infinite credits, as a sign of life. `Duration()`: none.
    Duration sign_of_life{};

    /// A link of this width and speed, with the timer limits of the standard. The Ack timer leaves
    /// time for a frame that is being sent when the Ack becomes due.
    static Config of_link(LinkRate rate, std::size_t payload_max = 4096);
    /// Frames in datagrams of at most `frame_max` bytes. The timers suit processes, not hardware.
    static Config of_datagrams(std::size_t frame_max);

    /// The error names a setting that cannot work, in one line.
    Expected<void> check() const;

    Duration time_of(std::size_t bytes) const {
        return byte_time * static_cast<std::int64_t>(bytes);
    }
};

}  // namespace wireproof::pcie
