#include "wireproof/app/transfer/live_end.hpp"

#include <optional>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/transfer/carry_ib.hpp"
#include "wireproof/app/transfer/carry_side.hpp"
#include "wireproof/app/transfer/udp_session.hpp"
#include "wireproof/wire/faulty/faulty_wire.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::app {
namespace {

class UdpEnd final : public LiveEnd, public ClosedEnd {
public:
    UdpEnd(const CarryOptions& options, std::uint16_t node) {
        am::UdpNode::Options udp;
        udp.local = *Address::parse("127.0.0.1:0");
        udp.frame_max = datagram_max(options);
        udp.only_peer = PeerId(1 - node);
        udp.faults = options.faults;
        udp.seed = options.seed + node;
        node_ = std::make_shared<am::UdpNode>(opened(am::UdpNode::open(udp)));
    }
    am::UdpNode& node() { return *node_; }

    std::unique_ptr<LiveEnd> open() override { return std::make_unique<UdpEnd>(*this); }
    host::AnyWire wire() override { return node_->wire(); }
    void add_counts(SideCounts& counts) const override { add_wire_counts(*node_, counts); }

private:
    std::shared_ptr<am::UdpNode> node_;
};

LivePair udp_pair(const CarryOptions& options) {
    auto left = std::make_unique<UdpEnd>(options, 0);
    auto right = std::make_unique<UdpEnd>(options, 1);
    const Address to_left = left->node().socket().local_address();
    const Address to_right = right->node().socket().local_address();
    if (!left->node().socket().set_peer(PeerId{1}, to_right) ||
        !right->node().socket().set_peer(PeerId{0}, to_left)) {
        throw Failure("the two sockets have one address");
    }
    return {std::move(left), std::move(right)};
}

/// Without faults, shared memory loses nothing, so the protocol has nothing to repair.
class ShmEnd final : public LiveEnd {
public:
    explicit ShmEnd(ShmWire wire) : wire_(std::move(wire)) {}
    host::AnyWire wire() override { return host::AnyWire(std::ref(wire_)); }
    void add_counts(SideCounts& counts) const override {
        const ShmCounters& shm = wire_.counters();
        counts.frames = shm.frames_sent;
        counts.bytes = shm.bytes_sent;
        counts.resent = shm.frames_resent;
    }

private:
    ShmWire wire_;
};

class FaultyShmEnd final : public LiveEnd {
public:
    FaultyShmEnd(ShmWire wire, FaultyWire<ShmWire>::Config faults)
        : wire_(std::move(wire), std::move(faults)) {}
    host::AnyWire wire() override { return host::AnyWire(std::ref(wire_)); }
    void add_counts(SideCounts& counts) const override {
        const SentCounts sent = wire_.total_sent();
        const FaultCounts faults = wire_.total_counts();
        counts.frames = sent.frames;
        counts.bytes = sent.bytes;
        counts.resent = sent.resent;
        counts.lost = faults.lost;
        counts.damaged = faults.damaged;
        counts.duplicated = faults.duplicated;
    }

private:
    FaultyWire<ShmWire> wire_;
};

class ClosedShmEnd final : public ClosedEnd {
public:
    ClosedShmEnd(const CarryOptions& options, std::uint16_t node, ControlSocket socket)
        : options_(options), node_(node), socket_(std::move(socket)) {}

    std::unique_ptr<LiveEnd> open() override {
        ShmWire::Config config;
        config.node = node_;
        config.frame_max = datagram_max(options_);
        ShmWire wire = opened(ShmWire::adopt(config, std::move(socket_)));
        const FaultRates& rates = options_.faults;
        if (rates.loss == 0 && rates.bit_error == 0 && rates.duplicate == 0 && rates.reorder == 0) {
            return std::make_unique<ShmEnd>(std::move(wire));
        }
        FaultyWire<ShmWire>::Config faults;
        faults.rates = rates;
        faults.seed = options_.seed + node_;
        return std::make_unique<FaultyShmEnd>(std::move(wire), std::move(faults));
    }

private:
    CarryOptions options_;
    std::uint16_t node_;
    ControlSocket socket_;
};

LivePair shm_pair(const CarryOptions& options) {
    auto sockets = opened(ControlSocket::pair());
    return {std::make_unique<ClosedShmEnd>(options, 0, std::move(sockets.first)),
            std::make_unique<ClosedShmEnd>(options, 1, std::move(sockets.second))};
}

}  // namespace

LivePair open_live_pair(const CarryOptions& options) {
    if (options.wire == "shm") return shm_pair(options);
    return is_ib(options.protocol) ? rocev2_pair(options) : udp_pair(options);
}

}  // namespace wireproof::app
