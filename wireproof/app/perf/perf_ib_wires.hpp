// The wires of a measurement of queue pairs, opened before the answering process is forked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "wireproof/app/perf/perf_plan.hpp"
#include "wireproof/host/any_wire.hpp"

namespace wireproof::app {

struct PerfIbWire {
    std::shared_ptr<void> keeps;  // what the wire borrows
    host::AnyWire wire;
    PeerId peer{};  // the other end
};

struct PerfIbWires {
    /// Returns the wire of node 0 or 1 and closes the other. Call it once in each process.
    std::function<PerfIbWire(std::uint16_t node)> take;
};

/// Over UDP, both ends are hosts of the loopback network, on RoCEv2's port. With losses, frames on
/// shared memory have the headers and CRCs of a native link. Throws Failure.
PerfIbWires open_perf_ib_wires(const PerfPlan& plan);

/// Bytes of payload in a packet; 0 if the MTU is too small for a packet.
std::size_t perf_path_mtu(const PerfPlan& plan);
/// The smallest and the usual --mtu for queue pairs, in bytes.
std::size_t perf_ib_mtu_least();
std::size_t perf_ib_mtu_usual();

}  // namespace wireproof::app
