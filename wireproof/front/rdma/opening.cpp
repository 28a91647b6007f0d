#include "wireproof/front/rdma/opening.hpp"

#include <random>

#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::rdma {

std::uint64_t random_bits() {
    std::random_device system;
    return std::uint64_t{system()} << 32 | system();
}

Expected<std::size_t> path_mtu_at(const Address& local) {
    const auto room = Rocev2Wire::frame_max_at(local);
    if (!room) return tl::unexpected(room.error());
    const std::size_t path_mtu = proto::ib::path_mtu_within(*room);
    if (path_mtu == 0) {
        return unexpected("the interface of " + local.host_text() +
                          " carries no path MTU, not even 256");
    }
    return path_mtu;
}

Expected<Rocev2Wire> open_wire(const Opening& opening) {
    const bool controls = opening.congestion.used(opening.local.is_loopback());
    return Rocev2Wire::open({.local = opening.local,
                             .strangers_max = opening.strangers,
                             .frame_max = proto::ib::packet_max(opening.path_mtu),
                             .receive_buffer = opening.receive_buffer,
                             .identification = opening.identification,
                             .ecn = ecn_at(opening.local, controls)});
}

}  // namespace wireproof::rdma
