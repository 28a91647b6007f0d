// What a UDP wire counts. Everything that can go wrong with one frame is a number here and never an
// error: the protocols above recover from it.
#pragma once

#include <cstdint>

#include "wireproof/wire/udp/send_errors.hpp"

namespace wireproof {

struct UdpCounters {
    std::uint64_t frames_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t frames_resent = 0;  // those among frames_sent that left before
    std::uint64_t send_dropped = 0;   // the kernel had no room
    std::uint64_t send_refused = 0;   // reports that an earlier frame found nobody; sent anyway
    std::uint64_t send_failed = 0;    // too long, no route …: the sum of send_errors
    SendErrors send_errors;           // by reason
    std::uint64_t super_packets_sent = 0;  // of several frames, cut up by the kernel or never
    std::uint64_t segments_refused = 0;    // by the kernel: frames leave one by one since

    std::uint64_t frames_received = 0;  // handed up
    std::uint64_t bytes_received = 0;
    std::uint64_t super_packets_received = 0;
    std::uint64_t too_long = 0;        // for frame_max
    std::uint64_t unknown_source = 0;  // and no open place
    std::uint64_t kernel_dropped = 0;  // datagrams, super-packets as one: the buffer was full
    std::uint64_t receive_failed = 0;  // errors instead of frames
};

}  // namespace wireproof
