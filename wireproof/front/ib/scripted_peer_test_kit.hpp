// For tests: a host whose packets and datagrams the test chooses.
#pragma once

#include "wireproof/front/ib/device.hpp"
#include "wireproof/front/ib/device_test_kit.hpp"
#include "wireproof/proto/ib/path_mtu.hpp"

namespace wireproof::rdma::test {

inline constexpr std::uint32_t peers_number = 0x777777;  // of no queue pair

struct ScriptedPeer {
    explicit ScriptedPeer(unsigned number)
        : address(*parse_host(host(number))),
          device(*Rocev2Wire::open({.local = address, .frame_max = ib::packet_max(1024)}),
                 {.address = host(number), .path_mtu = 1024}) {
        device.wire.welcome(4);
    }
    /// That came for the queue pair above, which answers none.
    std::uint64_t packets() {
        while (device.poll(device.clock.now()) > 0) {
        }
        return device.port.counters().unknown_queue_pair;
    }

    Address address;
    Device::Inside device;
};

}  // namespace wireproof::rdma::test
