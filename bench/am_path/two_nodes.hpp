// Two nodes on shared memory in one process, for measurements of single messages between them.
#pragma once

#include <utility>

#include "wireproof/front/am/node.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::am {

/// The configuration of node 0 or 1.
inline Config config_of(std::uint16_t self) {
    Config config = Config::shared_memory();
    config.node = self;
    config.peer = 1 - self;
    config.seed = self + 1U;
    return config;
}

inline std::pair<ShmWire, ShmWire> open_wires() {
    ShmWire::Config shm;
    shm.frame_max = config_of(0).packet_max;
    shm.lends_ring = true;
    auto wires = ShmWire::pair(shm);
    WIREPROOF_CHECK(wires);
    return std::move(*wires);
}

}  // namespace wireproof::am
