// The counters of a shared-memory wire, of all peers together. If a peer does something wrong, the
// wire counts it and reports no error.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace wireproof {

struct ShmCounters {
    std::uint64_t frames_sent = 0;
    std::uint64_t bytes_sent = 0;
    std::uint64_t frames_resent = 0;  // of frames_sent: the retransmissions
    std::uint64_t frames_received = 0;
    std::uint64_t bytes_received = 0;
    std::uint64_t full_rings = 0;  // claims that found no room
    std::uint64_t doorbells_rung = 0;

    std::uint64_t connections = 0;       // that were made
    std::uint64_t refused_hellos = 0;    // from other nodes: of another job, or with other settings
    std::uint64_t refused_by_peers = 0;  // our hellos
    std::uint64_t malformed_peers = 0;   // ended because they wrote something invalid
    std::uint64_t peers_gone = 0;

    std::uint64_t mapped_copies = 0;   // write_memory and read_memory done by memcpy
    std::uint64_t private_copies = 0;  // by the kernel, from process to process
    std::uint64_t refused_copies = 0;  // not shared, not with that right, or the kernel refused

    /// Adds the counters of another wire.
    ShmCounters& operator+=(const ShmCounters& more) {
        frames_sent += more.frames_sent;
        bytes_sent += more.bytes_sent;
        frames_resent += more.frames_resent;
        frames_received += more.frames_received;
        bytes_received += more.bytes_received;
        full_rings += more.full_rings;
        doorbells_rung += more.doorbells_rung;
        connections += more.connections;
        refused_hellos += more.refused_hellos;
        refused_by_peers += more.refused_by_peers;
        malformed_peers += more.malformed_peers;
        peers_gone += more.peers_gone;
        mapped_copies += more.mapped_copies;
        private_copies += more.private_copies;
        refused_copies += more.refused_copies;
        return *this;
    }
};

/// A counter with its name and the unit of a count.
struct ShmCounter {
    std::string_view name;
    std::string_view unit;
    std::uint64_t ShmCounters::*count;
};

/// All of them.
inline constexpr std::array<ShmCounter, 15> shm_counters = {{
    {"frames_sent", "frames", &ShmCounters::frames_sent},
    {"bytes_sent", "bytes", &ShmCounters::bytes_sent},
    {"frames_resent", "frames", &ShmCounters::frames_resent},
    {"frames_received", "frames", &ShmCounters::frames_received},
    {"bytes_received", "bytes", &ShmCounters::bytes_received},
    {"full_rings", "claims", &ShmCounters::full_rings},
    {"doorbells_rung", "wakes", &ShmCounters::doorbells_rung},
    {"connections", "connections", &ShmCounters::connections},
    {"refused_hellos", "hellos", &ShmCounters::refused_hellos},
    {"refused_by_peers", "hellos", &ShmCounters::refused_by_peers},
    {"malformed_peers", "peers", &ShmCounters::malformed_peers},
    {"peers_gone", "peers", &ShmCounters::peers_gone},
    {"mapped_copies", "copies", &ShmCounters::mapped_copies},
    {"private_copies", "copies", &ShmCounters::private_copies},
    {"refused_copies", "copies", &ShmCounters::refused_copies},
}};

}  // namespace wireproof
