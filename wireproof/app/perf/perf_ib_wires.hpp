// The wires of a measurement of queue pairs, opened before the answering process is forked.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "wireproof/app/perf/perf_plan.hpp"
#include "wireproof/host/any_wire.hpp"

namespace wireproof::cli {

struct PerfIbWire {
    std::shared_ptr<void> keeps;  // what the wire only borrows
    host::AnyWire wire;
    PeerId peer{};  // the other end
};

struct PerfIbWires {
    /// That of node 0 or 1, once in each process; the other end is closed there.
    std::function<PerfIbWire(std::uint16_t node)> take;
};

/// Over UDP both ends are hosts of the loopback network, on RoCEv2's port. With losses, frames of
/// shared memory carry the headers and CRCs of a native link. Throws Failure.
PerfIbWires open_perf_ib_wires(const PerfPlan& plan);

/// Bytes of payload in a packet; 0: an MTU that carries no packet.
std::size_t perf_path_mtu(const PerfPlan& plan);
/// The least and the usual --mtu of queue pairs, bytes.
std::size_t perf_ib_mtu_least();
std::size_t perf_ib_mtu_usual();

}  // namespace wireproof::cli
