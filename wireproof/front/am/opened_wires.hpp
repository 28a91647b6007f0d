// Opens the wires of an Endpoint as its options say.
#pragma once

#include <vector>

#include "wireproof/front/am/options.hpp"
#include "wireproof/front/am/udp_node.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::am {

/// For an Options::seed of 0.
std::uint64_t random_seed();

/// The congestion control of the connection to each node, this node included.
std::vector<Congestion> congestion_of(const ReadOptions& read, const Options& options);

/// Shared memory among all nodes, or among `members` (see ShmWire::Config), with the faults that
/// the user requests. `packet_max` is that of the connections.
Expected<host::AnyWire> open_shm(const ReadOptions& read, std::size_t nodes, std::size_t packet_max,
                                 std::vector<bool> members = {});

/// The socket of this node. Peers whose address is not known yet are not reachable.
Expected<UdpNode> open_udp(const ReadOptions& read, const std::vector<Congestion>& congestion);

}  // namespace wireproof::am
