// What both doors to RDMA do to open a device.
#pragma once

#include <cstdint>

#include "wireproof/base/expected.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/proto/ib/transport/congestion_choice.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::rdma {

/// From the system. Different in each process: otherwise a peer would take packets of a restarted
/// process for those of the earlier one.
std::uint64_t random_bits();

/// The largest path MTU that the interface of this address carries.
Expected<std::size_t> path_mtu_at(const Address& local);

struct Opening {
    Address local;  // the port is that of RoCEv2
    std::size_t path_mtu = 0;
    std::size_t strangers = 0;  // the most hosts that become peers by their packets
    int receive_buffer = 0;     // bytes
    proto::ib::CongestionChoice congestion;
    IdentificationSource identification = {};
};
Expected<Rocev2Wire> open_wire(const Opening& opening);

}  // namespace wireproof::rdma
