#include "wireproof/app/perf/perf_ib_wires.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/loopback_host.hpp"
#include "wireproof/front/ib/icrc_wire.hpp"
#include "wireproof/front/ib/native_wire.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"
#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof::app {
namespace {

constexpr std::size_t around_roce_packet = 28 + IcrcCover::icrc_size;  // IPv4, UDP and ICRC

template <class Wire>
auto faults_for(const PerfPlan& plan, std::uint16_t node) {
    typename FaultyWire<Wire>::Config faults;
    faults.rates.loss = plan.loss;
    faults.seed = plan.seed + node;
    return faults;
}

template <class Wire>
void connect_roce(Wire& wire, PeerId peer, const Address& address) {
    if (const auto set = wire.set_peer(peer, address); !set) throw Failure(set.error().message);
}

PerfIbWires open_roce(const PerfPlan& plan) {
    using Ends = std::array<std::shared_ptr<Rocev2Wire>, 2>;
    const auto ends = std::make_shared<Ends>();
    for (std::uint16_t node = 0; node < 2; ++node) {
        (*ends)[node] =
            std::make_shared<Rocev2Wire>(opened_on_free_host(node, [&](const Address& host) {
                return Rocev2Wire::open(
                    {.local = host, .frame_max = proto::ib::packet_max(perf_path_mtu(plan))});
            }));
    }
    for (std::size_t node = 0; node < 2; ++node) {
        connect_roce(*(*ends)[node], PeerId{0}, (*ends)[1 - node]->local_address());
    }
    return {[ends](std::uint16_t node) {
        (*ends)[1 - node].reset();
        const std::shared_ptr<Rocev2Wire> mine = std::move((*ends)[node]);
        return PerfIbWire{mine, host::AnyWire(std::ref(*mine)), PeerId{0}};
    }};
}

/// The ICRC is added outside the faulty wire, so that a lost frame is a packet that had left.
PerfIbWires open_lossy_roce(const PerfPlan& plan) {
    using Faulty = FaultyWire<UdpWire>;
    struct Ends {
        std::array<std::shared_ptr<Faulty>, 2> wires;
        std::vector<Address> addresses;
    };
    const auto ends = std::make_shared<Ends>();
    for (std::uint16_t node = 0; node < 2; ++node) {
        UdpWire udp = opened_on_free_host(node, [&](const Address& host) {
            UdpWire::Config config;
            config.local = host;
            config.frame_max = proto::ib::packet_max(perf_path_mtu(plan)) + IcrcCover::icrc_size;
            config.segments = false;  // with segments the kernel would count up the identifications
            return UdpWire::open(config);
        });
        // As adapters send packets: never in fragments, and with an identification of 0, which the
        // ICRC covers.
        const int discover = IP_PMTUDISC_DO;
        if (::setsockopt(udp.wait_handle(), IPPROTO_IP, IP_MTU_DISCOVER, &discover,
                         sizeof discover) != 0) {
            throw Failure("the kernel does not keep packets from being fragmented");
        }
        ends->addresses.push_back(udp.local_address());
        ends->wires[node] =
            std::make_shared<Faulty>(std::move(udp), faults_for<UdpWire>(plan, node));
    }
    for (std::size_t node = 0; node < 2; ++node) {
        const auto peer = static_cast<PeerId>(1 - node);
        connect_roce(ends->wires[node]->inner(), peer, ends->addresses[1 - node]);
    }
    return {[ends](std::uint16_t node) {
        ends->wires[1 - node].reset();
        const std::shared_ptr<Faulty> mine = std::move(ends->wires[node]);
        proto::ib::IcrcWire<host::AnyWire> checked(
            host::AnyWire(std::ref(*mine)),
            {.local = ends->addresses[node], .peers = ends->addresses});
        return PerfIbWire{mine, host::AnyWire(std::move(checked)), static_cast<PeerId>(1 - node)};
    }};
}

PerfIbWires open_shared_memory(const PerfPlan& plan) {
    const auto sockets =
        std::make_shared<std::pair<ControlSocket, ControlSocket>>(opened(ControlSocket::pair()));
    return {[sockets, plan](std::uint16_t node) {
        (node == 0 ? sockets->second : sockets->first).close();
        ShmWire::Config config;
        config.node = node;
        ShmWire wire =
            opened(ShmWire::adopt(config, std::move(node == 0 ? sockets->first : sockets->second)));
        const auto peer = static_cast<PeerId>(1 - node);
        if (plan.loss == 0) return PerfIbWire{nullptr, host::AnyWire(std::move(wire)), peer};
        host::AnyWire lossy(FaultyWire<ShmWire>(std::move(wire), faults_for<ShmWire>(plan, node)));
        return PerfIbWire{nullptr,
                          host::AnyWire(proto::ib::NativeWire<host::AnyWire>(
                              std::move(lossy), {.local = static_cast<PeerId>(node)})),
                          peer};
    }};
}

}  // namespace

std::size_t perf_path_mtu(const PerfPlan& plan) {
    if (plan.wire == PerfWire::shm) return proto::ib::path_mtus.back();
    return plan.mtu > around_roce_packet ? proto::ib::path_mtu_within(plan.mtu - around_roce_packet)
                                         : 0;
}

std::size_t perf_ib_mtu_least() {
    return around_roce_packet + proto::ib::packet_max(proto::ib::path_mtus.front());
}

std::size_t perf_ib_mtu_usual() {
    return around_roce_packet + proto::ib::packet_max(proto::ib::path_mtus.back());
}

PerfIbWires open_perf_ib_wires(const PerfPlan& plan) {
    if (plan.wire == PerfWire::shm) return open_shared_memory(plan);
    return plan.loss > 0 ? open_lossy_roce(plan) : open_roce(plan);
}

}  // namespace wireproof::app
