// The sizes of the modelled hardware, and its settings.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/base/expected.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/sim/sp2/costs.hpp"

namespace wireproof::sp2 {

inline constexpr std::size_t entry_size = 256;  // bytes of a FIFO entry: one packet (paper)
inline constexpr std::size_t routes = 4;        // per ordered pair of nodes (paper)

/// Chooses the route of a packet. The adapter takes the result modulo `routes`.
using RouteOf = unsigned (*)(ConstBytes);

inline unsigned first_route(ConstBytes) {
    return 0;
}

struct Config {
    std::size_t nodes = 2;
    Costs costs{};

    std::size_t send_entries = 128;             // paper
    std::size_t receive_entries_per_peer = 64;  // paper: per active node
    std::size_t active_peers = 0;               // 0: all other nodes; fixed for a run (paper)
    std::size_t lazy_pop = 16;  // read entries are returned together; the paper gives no number
    // The number of adjacent slots of the length array that one bus access reads or stores: slots
    // of a byte on a 32-bit bus. 1: each length is stored alone.
    std::size_t lengths_per_access = 4;
    // The number of packets that the adapter may hold before the link. We chose it: the real
    // adapter has megabytes, but then the send FIFO would never fill.
    std::size_t adapter_packets = 8;

    RouteOf route_of = first_route;
    std::array<Duration, routes> route_delays{};  // in addition to the switch's latency
    FaultRates faults{};  // in the switch; none, because it is good hardware
    Duration hold_limit = Duration::microseconds(100);
    std::uint64_t seed = 0;
    Describe describe = describe_nothing;  // for fault scripts and traces

    std::size_t receive_entries() const {
        return receive_entries_per_peer * (active_peers == 0 ? nodes - 1 : active_peers);
    }

    /// An error if no machine can have these settings. A Machine accepts only settings without an
    /// error.
    Expected<void> check() const;
};

}  // namespace wireproof::sp2
