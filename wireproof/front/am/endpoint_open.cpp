// How an Endpoint is opened and closed, and its addresses.
#include <system_error>
#include <utility>

#include "wireproof/front/am/endpoint_inside.hpp"
#include "wireproof/front/am/opened_wires.hpp"

namespace wireproof::am {
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
        auto wire = open_shm(*read, options.peers.size(), read->config.packet_max);
        if (!wire) return Opened::failure(wire.error().message);
        const std::vector<Congestion> alone(options.peers.size(), read->config.congestion);
        auto inside =
            std::make_unique<Inside>(std::move(*wire), read->config, alone, options.active_peers);
        inside->shm_name = options.peers.front();
        if (options.publish_counters) inside->publish_counters();
        return Endpoint(std::move(inside));
    }
    const std::vector<Congestion> congestion = congestion_of(*read, options);
    auto wire = open_udp(*read, congestion);
    if (!wire) return Opened::failure(wire.error().message);
    auto inside =
        std::make_unique<Inside>(std::move(*wire), read->config, congestion, options.active_peers);
    for (std::size_t peer = 0; peer < inside->node.nodes(); ++peer) {
        inside->node.set_reachable(peer, read->addresses[peer].is_set());
    }
    if (options.publish_counters) inside->publish_counters();
    return Endpoint(std::move(inside));
}

Status Endpoint::close(std::chrono::milliseconds limit) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    if (in->user.inside()) return Status::not_allowed;
    const std::uint64_t cut = in->node.sessions_cut();
    Status status = Status::timed_out;
    {
        const host::OneUser::Call call(in->user);
        if (in->wait([in] { return in->leave(); }, limit) || in->node.idle()) status = Status::ok;
        in->node.acknowledge_all();  // so that the close() of a peer need not wait for this node
        in->poll();
    }
    if (in->node.sessions_cut() != cut) status = Status::peer_lost;
    end(std::move(inside_));
    return status;
}

bool Endpoint::leave() {
    Inside* const in = open_inside();
    if (in == nullptr) return true;
    const host::OneUser::Call call(in->user);
    return !in->node.polling() && in->leave();
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
    if (in->path_to(peer) == PeerCounters::Path::shared_memory) {
        return Set::failure("peer " + std::to_string(peer) + " is on shared memory");
    }
    const auto there = Address::parse(address);
    if (!there) return Set::failure(there.error().message);
    if (const auto why = there->why_no_peer(); !why.empty()) {
        return Set::failure(std::string(address) + " " + std::string(why));
    }
    const auto set = in->udp->socket().set_peer(PeerId(peer), *there);
    if (!set) return Set::failure(set.error().message);
    in->node.set_reachable(peer, true);
    if (in->shown) in->shown->forget_details();
    return {};
}

}  // namespace wireproof::am
