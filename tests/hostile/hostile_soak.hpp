// `wireproof soak --hostile`: a device on a real socket, an honest connection to it, and a host
// that sends it random and altered packets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/hostile/hostile_packets.hpp"

namespace wireproof::cli {

struct HostileSoakConfig {
    std::uint64_t packets = 0;  // of harm
    std::uint64_t seed = 1;
    std::optional<proto::ib::Transport> transport = {};  // RC, UC, or both
};

struct HostileSoakResult {
    std::uint64_t hostile = 0;                                    // packets of harm
    std::array<std::uint64_t, hostility_names.size()> sent_as{};  // of those
    std::uint64_t harmless = 0;   // packets of the hostile host's good traffic
    std::uint64_t honest = 0;     // packets of the honest peer
    std::uint64_t datagrams = 0;  // of all those that the kernel took
    std::uint64_t kernel_dropped = 0;
    /// The others, by what became of them.
    std::vector<std::pair<std::string, std::uint64_t>> received{};
    std::uint64_t reconnected = 0;  // connections of the hostile host, broken or begun anew
    std::uint64_t completed = 0;    // requests and receives of those, at the device
    std::uint64_t honest_messages = 0;
    std::uint64_t honest_lost = 0;    // UC
    std::uint64_t memory_checks = 0;  // of every byte that nobody may write
    std::string violation{};          // in one line; empty: none
};

/// As tables.
std::string text_of(const HostileSoakResult& result, std::uint64_t seed);

/// Throws Failure when a socket cannot be had, Interrupted after a signal.
HostileSoakResult run_hostile_soak(const HostileSoakConfig& config);

}  // namespace wireproof::cli
