// The counters of a UDP wire. If something goes wrong with a frame, the wire counts it and reports
// no error: the protocols above recover from it.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "wireproof/wire/udp/send_errors.hpp"

namespace wireproof {

struct UdpCounters {
    std::uint64_t frames_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t frames_resent = 0;       // of frames_sent: the retransmissions
    std::uint64_t send_dropped = 0;        // the kernel had no room
    std::uint64_t send_refused = 0;        // reports that nobody received an earlier frame
    std::uint64_t send_failed = 0;         // too long, no route …: the sum of send_errors
    SendErrors send_errors;                // by reason
    std::uint64_t super_packets_sent = 0;  // of several frames each
    std::uint64_t segments_refused = 0;    // by the kernel, then frames leave one by one

    std::uint64_t frames_received = 0;  // passed to the engine
    std::uint64_t bytes_received = 0;
    std::uint64_t super_packets_received = 0;
    std::uint64_t frames_marked = 0;   // of frames_received: a router marked them (ECN)
    std::uint64_t too_long = 0;        // longer than frame_max
    std::uint64_t unknown_source = 0;  // and no place is open
    std::uint64_t kernel_dropped = 0;  // datagrams, or super-packets as one: the buffer was full
    std::uint64_t receive_failed = 0;  // receive calls that returned an error
};

/// A counter with its name and the unit of a count.
struct UdpCounter {
    std::string_view name;
    std::string_view unit;
    std::uint64_t UdpCounters::*count;
};

/// All of them.
inline constexpr std::array<UdpCounter, 16> udp_counters = {{
    {"frames_sent", "frames", &UdpCounters::frames_sent},
    {"bytes_sent", "bytes", &UdpCounters::bytes_sent},
    {"frames_resent", "frames", &UdpCounters::frames_resent},
    {"send_dropped", "frames", &UdpCounters::send_dropped},
    {"send_refused", "reports", &UdpCounters::send_refused},
    {"send_failed", "frames", &UdpCounters::send_failed},
    {"super_packets_sent", "datagrams", &UdpCounters::super_packets_sent},
    {"segments_refused", "datagrams", &UdpCounters::segments_refused},
    {"frames_received", "frames", &UdpCounters::frames_received},
    {"bytes_received", "bytes", &UdpCounters::bytes_received},
    {"super_packets_received", "datagrams", &UdpCounters::super_packets_received},
    {"frames_marked", "frames", &UdpCounters::frames_marked},
    {"too_long", "datagrams", &UdpCounters::too_long},
    {"unknown_source", "frames", &UdpCounters::unknown_source},
    {"kernel_dropped", "datagrams", &UdpCounters::kernel_dropped},
    {"receive_failed", "calls", &UdpCounters::receive_failed},
}};

}  // namespace wireproof
