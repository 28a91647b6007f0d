// Every figure of a PCI Express data link in one place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/proto/pcie/timing.hpp"

namespace wireproof::pcie {

/// The three kinds of TLPs that are credited apart.
enum class FlowType : std::uint8_t { posted = 0, non_posted = 1, completion = 2 };
inline constexpr std::size_t flow_types = 3;

/// Room that a receiver advertises; 0 of either is infinite.
struct Credits {
    std::uint32_t headers = 0;  // TLPs, at most 127
    std::uint32_t data = 0;     // units of 16 bytes, at most 2047
    friend bool operator==(Credits, Credits) = default;
};

struct Config {
    std::size_t payload_max = 4096;  // bytes of a TLP
    Duration byte_time{};            // on the link; 0: frames take no time (datagrams)

    std::uint32_t modulus = 4096;      // of sequence numbers; even
    std::uint32_t first_number = 0;    // of the first TLP; both ends must name the same
    std::uint32_t replay_slots = 256;  // TLPs that wait or are unacknowledged
    std::uint32_t outstanding = 2047;  // unacknowledged TLPs, below half the modulus
    bool payload_lent = false;         // messages stay put until acknowledged: nothing is copied
    std::array<Credits, flow_types> credits{};  // that we advertise

    Duration ack_latency = Duration::microseconds(1);  // AckNak_LATENCY_TIMER
    std::uint32_t ack_after = 0;  // TLPs after which an Ack leaves at once; 0: the timer alone
    Duration replay_after = Duration::microseconds(3);  // REPLAY_TIMER
    /// Where the loop is not known beforehand: once it is measured, REPLAY_TIMER falls to three
    /// loops, but not below this. 0: it stays what it is.
    Duration replay_floor{};
    /// On a path shared with others: REPLAY_TIMER doubles and a replay shrinks to its first TLP
    /// while no Ack comes (core/backoff.hpp). Off on a link, where the standard fixes both.
    bool backs_off = false;
    Duration retrain_time = Duration::microseconds(10);
    /// After a Nak, a bad or ahead TLP that ends later than this draws another; 0: never (the
    /// standard), and a resent head that is damaged waits for REPLAY_TIMER.
    Duration renak_after{};

    Duration init_every = Duration::microseconds(34);    // InitFC triples
    Duration update_every = Duration::microseconds(30);  // UpdateFC of what is not infinite
    /// UpdateFC also of what is infinite, as a sign of life; `Duration()`: none.
    Duration sign_of_life{};

    /// A link of that width and speed with the limits of its timers; half of the Ack limit is left
    /// to the frame that is being sent when the Ack falls due.
    static Config of_link(LinkRate rate, std::size_t payload_max = 4096);
    /// Frames in datagrams of at most `frame_max` bytes: timers of processes, not of hardware.
    static Config of_datagrams(std::size_t frame_max);

    /// What cannot work, in one line.
    Expected<void> check() const;

    Duration time_of(std::size_t bytes) const {
        return byte_time * static_cast<std::int64_t>(bytes);
    }
};

}  // namespace wireproof::pcie
