// Each process has its own host address on the loopback network, because all RoCEv2 uses one port.
// Faults are applied between the socket and the check of the ICRC.
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/loopback_host.hpp"
#include "wireproof/app/transfer/carry_ib.hpp"
#include "wireproof/front/ib/icrc_wire.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof::app {
namespace {

/// Opens the wire on a host address that is not in use.
UdpWire opened_wire(const CarryOptions& options, std::uint16_t node) {
    return opened_on_free_host(node, [&](const Address& host) {
        UdpWire::Config config;
        config.local = host;
        config.frame_max = ib_frame_max(options);
        config.segments = false;  // with segments the kernel would count up the identifications
        return UdpWire::open(config);
    });
}

class Rocev2End final : public LiveEnd, public ClosedEnd {
public:
    Rocev2End(const CarryOptions& options, std::uint16_t node) {
        UdpWire udp = opened_wire(options, node);
        // As adapters send packets: never in fragments, and with an identification of 0, which the
        // ICRC covers.
        const int discover = IP_PMTUDISC_DO;
        if (::setsockopt(udp.wait_handle(), IPPROTO_IP, IP_MTU_DISCOVER, &discover,
                         sizeof discover) != 0) {
            throw Failure("the kernel does not keep packets from being fragmented");
        }
        local_ = udp.local_address();
        FaultyWire<UdpWire>::Config faults;
        faults.rates = options.faults;
        faults.seed = options.seed + node;
        wire_ = std::make_shared<FaultyWire<UdpWire>>(std::move(udp), std::move(faults));
    }

    const Address& local() const { return local_; }
    void set_peer(std::size_t number, const Address& address) {
        if (const auto set = wire_->inner().set_peer(static_cast<PeerId>(number), address); !set) {
            throw Failure(set.error().message);
        }
        peers_.resize(2, local_);
        peers_[number] = address;
    }

    std::unique_ptr<LiveEnd> open() override { return std::make_unique<Rocev2End>(*this); }
    host::AnyWire wire() override {
        return host::AnyWire(proto::ib::IcrcWire<host::AnyWire>(
            host::AnyWire(std::ref(*wire_)), {.local = local_, .peers = peers_}));
    }
    void add_counts(SideCounts& counts) const override {
        const SentCounts sent = wire_->total_sent();
        const FaultCounts faults = wire_->total_counts();
        const UdpCounters& socket = wire_->inner().counters();
        counts.frames = sent.frames;
        counts.bytes = sent.bytes;
        counts.resent = sent.resent;
        counts.lost =
            faults.lost + socket.kernel_dropped + socket.send_dropped + socket.send_failed;
        counts.damaged = faults.damaged;
        counts.duplicated = faults.duplicated;
    }

private:
    std::shared_ptr<FaultyWire<UdpWire>> wire_;
    Address local_;
    std::vector<Address> peers_;
};

}  // namespace

LivePair rocev2_pair(const CarryOptions& options) {
    auto left = std::make_unique<Rocev2End>(options, std::uint16_t{0});
    auto right = std::make_unique<Rocev2End>(options, std::uint16_t{1});
    left->set_peer(1, right->local());
    right->set_peer(0, left->local());
    return {std::move(left), std::move(right)};
}

}  // namespace wireproof::app
