// What the adapters do without a protocol, to compare protocols with. Both functions run a machine
// of two nodes.
#pragma once

#include "wireproof/base/instant.hpp"
#include "wireproof/sim/sp2/costs.hpp"

namespace wireproof::sp2 {

inline constexpr std::size_t header_size = 32;  // of a 256-byte packet, so that 224 carry data

/// Mean round trip of a one-word packet: 32 bytes of header and 4 of data each way.
Duration raw_round_trip(const Costs& costs = Costs());

/// Data bytes per second of a stream of full packets, 224 of 256 bytes being data.
double raw_bandwidth(const Costs& costs = Costs());

}  // namespace wireproof::sp2
