// How an Endpoint is opened and closed, and its addresses.
#include <random>
#include <system_error>
#include <utility>

#include "wireproof/front/am/endpoint_inside.hpp"
#include "wireproof/front/am/options.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::am {
namespace {

// A peer whose address is not known yet is on this host if this node listens only on the loopback
// address.
Congestion congestion_to(const Address& peer, const Address& own, const Options& options) {
    const bool between = !(peer.is_set() ? peer : own).is_loopback();
    const bool on = options.congestion_control == CongestionControl::always ||
                    (options.congestion_control == CongestionControl::between_hosts && between);
    if (!on) return Congestion::off;
    return options.congestion_algorithm == CongestionAlgorithm::by_path ? Congestion::by_path
                                                                        : Congestion::by_loss;
}

std::vector<Congestion> congestion_of(const ReadOptions& read, const Options& options) {
    std::vector<Congestion> congestion;
    for (const Address& peer : read.addresses) {
        congestion.push_back(congestion_to(peer, read.addresses[options.self], options));
    }
    return congestion;
}

Ecn ecn_to(const std::vector<Congestion>& congestion, const ReadOptions& read) {
    bool controls = false;
    for (std::size_t peer = 0; peer < congestion.size(); ++peer) {
        controls |= peer != read.config.node && congestion[peer] != Congestion::off;
    }
    return ecn_at(read.addresses[read.config.node], controls);
}

Expected<host::AnyWire> open_shm(const ReadOptions& read, std::size_t nodes) {
    ShmWire::Config shm;
    shm.name = read.shm_name;
    shm.job = read.config.job;
    shm.node = read.config.node;
    shm.nodes = nodes;
    shm.frame_max = read.config.packet_max;
    auto wire = ShmWire::open(shm);
    if (!wire) return tl::unexpected(wire.error());
    if (read.faults == FaultRates{}) return host::AnyWire(std::move(*wire));
    FaultyWire<ShmWire>::Config faults;
    faults.rates = read.faults;
    faults.seed = read.config.seed;
    faults.describe = describe_ethernet;
    return host::AnyWire(FaultyWire<ShmWire>(std::move(*wire), std::move(faults)));
}

Expected<UdpNode> open_udp(const ReadOptions& read, Ecn ecn) {
    UdpNode::Options udp;
    udp.peers = read.addresses;
    udp.unset_is_open = false;
    udp.local = std::exchange(udp.peers[read.config.node], {});  // the node itself is not a peer
    if (udp.peers.size() == 2) udp.only_peer = PeerId(1 - read.config.node);
    udp.frame_max = read.config.packet_max;
    udp.ecn = ecn;
    udp.faults = read.faults;
    udp.seed = read.config.seed;
    return UdpNode::open(udp);
}

std::uint64_t random_seed() {
    std::random_device system;
    return (std::uint64_t{system()} << 32) | system();
}

}  // namespace

Endpoint::Endpoint(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Endpoint::Endpoint(Endpoint&&) noexcept = default;

Endpoint& Endpoint::operator=(Endpoint&& other) noexcept {
    if (this != &other) end(std::exchange(inside_, std::move(other.inside_)));
    return *this;
}

Endpoint::~Endpoint() {
    end(std::move(inside_));
}

// Callbacks may call the Endpoint: its inside_ is already null, so the calls return closed.
void Endpoint::end(std::unique_ptr<Inside> inside) {
    if (inside == nullptr || inside->fork.forked()) return;
    if (inside->user.inside()) {
        host::misused(
            "an Endpoint is destroyed, or another assigned to it, inside one of its own calls: by "
            "a handler, by a callback or by the condition of a wait");
    }
    inside->node.end_transfers(Status::closed);
}

Endpoint::Inside* Endpoint::open_inside() const {
    return inside_ != nullptr && !inside_->fork.forked() ? inside_.get() : nullptr;
}

bool Endpoint::is_open() const {
    return open_inside() != nullptr;
}

Result<Endpoint> Endpoint::open(const Options& options) {
    try {
        return open_as(options);
    } catch (const std::system_error& error) {  // from LoopHandle
        return Result<Endpoint>::failure(host::no_loop_handle(error));
    }
}

Result<Endpoint> Endpoint::open_as(const Options& options) {
    using Opened = Result<Endpoint>;
    auto read = read_options(options);
    if (!read) return Opened::failure(read.error().message);
    if (read->config.seed == 0) read->config.seed = random_seed();
    if (read->on_shm()) {
        auto wire = open_shm(*read, options.peers.size());
        if (!wire) return Opened::failure(wire.error().message);
        const std::vector<Congestion> alone(options.peers.size(), read->config.congestion);
        auto inside =
            std::make_unique<Inside>(std::move(*wire), read->config, alone, options.active_peers);
        inside->shm_name = options.peers.front();
        return Endpoint(std::move(inside));
    }
    const std::vector<Congestion> congestion = congestion_of(*read, options);
    auto wire = open_udp(*read, ecn_to(congestion, *read));
    if (!wire) return Opened::failure(wire.error().message);
    auto inside =
        std::make_unique<Inside>(std::move(*wire), read->config, congestion, options.active_peers);
    for (std::size_t peer = 0; peer < inside->node.nodes(); ++peer) {
        inside->node.set_reachable(peer, read->addresses[peer].is_set());
    }
    return Endpoint(std::move(inside));
}

Status Endpoint::close(std::chrono::milliseconds limit) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    if (in->user.inside()) return Status::not_allowed;
    const std::uint64_t losses = in->node.losses();
    Status status = Status::timed_out;
    {
        const host::OneUser::Call call(in->user);
        if (in->wait([in] { return in->node.idle(); }, limit)) status = Status::ok;
    }
    if (in->node.losses() != losses) status = Status::peer_lost;
    end(std::move(inside_));
    return status;
}

std::string Endpoint::local_address() const {
    const Inside* const in = open_inside();
    if (in == nullptr) return {};
    return in->udp ? in->udp->socket().local_address().to_string() : in->shm_name;
}

Result<void> Endpoint::set_peer_address(std::size_t peer, std::string_view address) {
    using Set = Result<void>;
    Inside* const in = open_inside();
    if (in == nullptr) return Set::failure("the Endpoint is closed");
    const host::OneUser::Call call(in->user);
    if (!in->udp) return Set::failure("peers on shared memory have no address");
    if (!in->node.is_peer(peer)) return Set::failure("no peer " + std::to_string(peer));
    const auto there = Address::parse(address);
    if (!there) return Set::failure(there.error().message);
    if (const auto why = there->why_no_peer(); !why.empty()) {
        return Set::failure(std::string(address) + " " + std::string(why));
    }
    const auto set = in->udp->socket().set_peer(PeerId(peer), *there);
    if (!set) return Set::failure(set.error().message);
    in->node.set_reachable(peer, true);
    return {};
}

}  // namespace wireproof::am
