// The attack: a device on a real socket, an honest connection to it, and a hostile host that sends
// it random and altered packets.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/hostile/hostile_packets.hpp"

namespace wireproof::hostile {

struct HostileSoakConfig {
    std::uint64_t packets = 0;  // hostile packets
    std::uint64_t seed = 1;
    std::optional<proto::ib::Transport> transport = {};  // RC, UC, or both
};

struct HostileSoakResult {
    std::uint64_t hostile = 0;                                    // hostile packets
    std::array<std::uint64_t, hostility_names.size()> sent_as{};  // hostile packets by kind
    std::uint64_t harmless = 0;   // valid packets of the hostile host
    std::uint64_t honest = 0;     // packets of the honest peer
    std::uint64_t datagrams = 0;  // all of these that the kernel accepted for sending
    std::uint64_t kernel_dropped = 0;
    /// The number of the other datagrams, for each thing that happened to them.
    std::vector<std::pair<std::string, std::uint64_t>> received{};
    std::uint64_t reconnected = 0;  // times that a connection of the hostile host began again
    std::uint64_t completed = 0;    // requests and receives of these connections, at the device
    std::uint64_t honest_messages = 0;
    std::uint64_t honest_lost = 0;    // UC only
    std::uint64_t memory_checks = 0;  // each checks all bytes that nobody may write
    std::string violation{};          // in one line; empty: none
};

/// The result as tables.
std::string text_of(const HostileSoakResult& result, std::uint64_t seed);

/// Throws Failure if a socket cannot be opened, and Interrupted after a signal.
HostileSoakResult run_hostile_soak(const HostileSoakConfig& config);

}  // namespace wireproof::hostile
