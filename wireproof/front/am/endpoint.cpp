// Endpoint: a Node on a UDP socket or on shared memory, and the steady clock.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <random>

#include "wireproof/am.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/options.hpp"
#include "wireproof/front/am/udp_node.hpp"
#include "wireproof/host/fork_watch.hpp"
#include "wireproof/host/one_user.hpp"
#include "wireproof/host/spin_budget.hpp"
#include "wireproof/host/spin_clock.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::am {

std::string_view name_of(Status status) {
    constexpr std::array<std::string_view, 9> names = {"ok",          "would_block",  "too_long",
                                                       "not_allowed", "no_such_peer", "peer_lost",
                                                       "no_handler",  "forbidden",    "closed"};
    return names[static_cast<std::size_t>(status)];
}

std::uint32_t Words::operator[](std::size_t index) const {
    return index < size() ? load_le<std::uint32_t>(bytes_.subspan(4 * index).first<4>()) : 0;
}

namespace {

Congestion congestion_to(const Address& peer, CongestionControl wanted) {
    const bool on = wanted == CongestionControl::always ||
                    (wanted == CongestionControl::between_hosts && !peer.is_loopback());
    return on ? Congestion::on : Congestion::off;
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

Expected<UdpNode> open_udp(const ReadOptions& read) {
    UdpNode::Options udp;
    udp.peers = read.addresses;
    udp.local = udp.peers[read.config.node];
    if (udp.peers.size() == 2) udp.only_peer = PeerId(1 - read.config.node);
    udp.frame_max = read.config.packet_max;
    udp.faults = read.faults;
    udp.seed = read.config.seed;
    return UdpNode::open(udp);
}

std::uint64_t random_seed() {
    std::random_device system;
    return (std::uint64_t{system()} << 32) | system();
}

// Words as they go on the wire.
class WireWords {
public:
    explicit WireWords(std::span<const std::uint32_t> words) : bytes_(words.size() * 4) {
        for (std::size_t i = 0; i < words.size(); ++i) {
            store_le<std::uint32_t>(Bytes(bytes_).subspan(4 * i).first<4>(), words[i]);
        }
    }
    ConstBytes bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

// A little-endian host has them as the wire wants them.
template <class Use>
Status with_wire_words(std::span<const std::uint32_t> words, Use&& use) {
    if constexpr (std::endian::native == std::endian::little) return use(std::as_bytes(words));
    return use(WireWords(words).bytes());
}

/// Asks peers for signs of life while the caller waits, however the wait ends.
class Awaiting {
public:
    explicit Awaiting(Node& node) : node_(node), before_(node.awaiting()) {
        node_.set_awaiting(true);
    }
    Awaiting(const Awaiting&) = delete;
    Awaiting& operator=(const Awaiting&) = delete;
    ~Awaiting() { node_.set_awaiting(before_); }

private:
    Node& node_;
    bool before_;
};

}  // namespace

Status Message::reply(std::uint16_t handler, std::span<const std::uint32_t> words) const {
    return with_wire_words(words, [&](ConstBytes bytes) { return node_->reply(handler, bytes); });
}

std::string PeerLost::message() const {
    const std::string node = "node " + std::to_string(peer);
    switch (why) {
        case Why::silent:
            if (by_peer) return node + " heard nothing of this node for its peer timeout";
            return cause.empty() ? node + " is silent" : node + " is unreachable: " + cause;
        case Why::restarted: return node + " was restarted";
        case Why::gone: return node + " is gone";
        case Why::unanswered:
            return node +
                   (by_peer ? " says that a packet of its own, of "
                            : " answers, but a packet of ") +
                   std::to_string(packet_bytes) + " bytes, sent again " +
                   std::to_string(packet_times) +
                   " times, never arrived: is Options::mtu longer than the path's?";
    }
    return node + " is lost";
}

struct Endpoint::Inside {
    Inside(host::AnyWire wire, const Config& config, const std::vector<Congestion>& congestion,
           std::size_t active_peers)
        : node(std::move(wire), config, congestion, active_peers) {}
    Inside(UdpNode wire, const Config& config, const std::vector<Congestion>& congestion,
           std::size_t active_peers)
        : udp(std::move(wire)), node(udp->wire(), config, congestion, active_peers) {}

    struct Free {
        void operator()(void* lent) const { std::free(lent); }
    };
    /// Once ended, the status; owned by whom is told of the end, since a store that is left by an
    /// exception goes on.
    using Outcome = std::shared_ptr<std::optional<Status>>;

    std::size_t poll() { return node.poll(clock.now()); }
    bool wait(const std::function<bool()>& until, std::chrono::milliseconds limit);
    template <class Until>
    void wait_for(Until&& until) {
        while (!wait(until, std::chrono::hours(24))) {
        }
    }
    Status store(std::size_t peer, std::uint64_t address, ConstBytes source, std::uint16_t handler,
                 std::uint32_t argument);

    host::SpinClock clock;
    host::SpinBudget spin;
    std::optional<UdpNode> udp;                       // which the node's wire then borrows
    std::vector<std::unique_ptr<void, Free>> memory;  // allocated where no wire shares any
    Node node;
    host::OneUser user{"an Endpoint"};
    host::ForkWatch fork{[this] { node.abandon(); }};
};

Endpoint::Endpoint(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Endpoint::Endpoint(Endpoint&&) noexcept = default;

Endpoint& Endpoint::operator=(Endpoint&& other) noexcept {
    if (this != &other) close(std::exchange(inside_, std::move(other.inside_)));
    return *this;
}

Endpoint::~Endpoint() {
    close(std::move(inside_));
}

// Callbacks may call the Endpoint, which has let go of this and answers them.
void Endpoint::close(std::unique_ptr<Inside> inside) {
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
    using Opened = Result<Endpoint>;
    auto read = read_options(options);
    if (!read) return Opened::failure(read.error().message);
    if (read->config.seed == 0) read->config.seed = random_seed();
    if (read->on_shm()) {
        auto wire = open_shm(*read, options.peers.size());
        if (!wire) return Opened::failure(wire.error().message);
        const std::vector<Congestion> alone(options.peers.size(), read->config.congestion);
        return Endpoint(
            std::make_unique<Inside>(std::move(*wire), read->config, alone, options.active_peers));
    }
    auto wire = open_udp(*read);
    if (!wire) return Opened::failure(wire.error().message);
    std::vector<Congestion> congestion;
    for (const Address& peer : read->addresses) {
        congestion.push_back(congestion_to(peer, options.congestion_control));
    }
    return Endpoint(
        std::make_unique<Inside>(std::move(*wire), read->config, congestion, options.active_peers));
}

std::size_t Endpoint::self() const {
    const Inside* const in = open_inside();
    return in != nullptr ? in->node.self() : 0;
}

std::size_t Endpoint::nodes() const {
    const Inside* const in = open_inside();
    return in != nullptr ? in->node.nodes() : 0;
}

std::size_t Endpoint::words_max() const {
    const Inside* const in = open_inside();
    if (in == nullptr) return 0;
    const std::size_t other = self() == 0 && nodes() > 1 ? 1 : 0;
    return in->node.connection(other).words_max();
}

Status Endpoint::handle(std::uint16_t handler, Handler run) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    if (handler == 0) return Status::not_allowed;
    in->node.handle(handler, std::move(run));
    return Status::ok;
}

void Endpoint::on_peer_lost(std::function<void(const PeerLost&)> report) {
    Inside* const in = open_inside();
    if (in == nullptr) return;
    const host::OneUser::Call call(in->user);
    in->node.on_peer_lost(std::move(report));
}

void Endpoint::on_refused(std::function<void(std::size_t, std::uint16_t)> report) {
    Inside* const in = open_inside();
    if (in == nullptr) return;
    const host::OneUser::Call call(in->user);
    in->node.on_refused(std::move(report));
}

// The turn comes first: what it throws leaves a request that is not posted.
Status Endpoint::request(std::size_t peer, std::uint16_t handler,
                         std::span<const std::uint32_t> words) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    if (in->node.wants_turn()) in->poll();
    return with_wire_words(words, [&](ConstBytes bytes) {
        return in->node.ask(peer, handler, bytes, [in] { return in->clock.now(); });
    });
}

Status Endpoint::store_async(std::size_t peer, std::uint64_t address,
                             std::span<const std::byte> source, std::uint16_t handler,
                             std::uint32_t argument, Done done) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    return in->node.store_async(peer, address, source, handler, argument, std::move(done));
}

Status Endpoint::store(std::size_t peer, std::uint64_t address, std::span<const std::byte> source,
                       std::uint16_t handler, std::uint32_t argument) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    if (in->node.polling()) return Status::not_allowed;
    return in->store(peer, address, source, handler, argument);
}

Status Endpoint::Inside::store(std::size_t peer, std::uint64_t address, ConstBytes source,
                               std::uint16_t handler, std::uint32_t argument) {
    Status posted = Status::would_block;
    bool ended = false;
    Outcome outcome;
    wait_for([&] {
        if (const auto at_once = node.store_at_once(peer, address, source, handler, argument)) {
            posted = *at_once;
            ended = posted == Status::ok;
            return posted != Status::would_block;
        }
        if (outcome == nullptr) outcome = std::make_shared<std::optional<Status>>();
        posted = node.store_async(peer, address, source, handler, argument,
                                  [outcome](Status status) { *outcome = status; });
        return posted != Status::would_block;
    });
    if (posted != Status::ok) return posted;
    if (ended) {
        if (node.wants_turn()) {
            poll();
        } else {
            node.push(clock.now());  // the handler hears of it
        }
        return Status::ok;
    }
    wait_for([&] { return outcome->has_value(); });
    return **outcome;
}

Status Endpoint::get(std::size_t peer, std::uint64_t address, std::span<std::byte> destination,
                     Done done) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    return in->node.get(peer, address, destination, std::move(done));
}

Result<std::span<std::byte>> Endpoint::allocate(std::size_t bytes) {
    using Allocated = Result<std::span<std::byte>>;
    Inside* const in = open_inside();
    if (in == nullptr) return Allocated::failure("the Endpoint is closed");
    const host::OneUser::Call call(in->user);
    if (bytes == 0) return Allocated::failure("no bytes to allocate");
    constexpr std::size_t address_space = std::size_t{1} << 47;  // no process has more
    const bool fits = bytes < address_space;
    if (fits) {
        auto shared = in->node.wire().allocate_shared(bytes);
        if (shared) return Bytes(*shared);
    }
    std::unique_ptr<void, Inside::Free> memory(fits ? std::calloc(bytes, 1) : nullptr);
    if (memory == nullptr) {
        return Allocated::failure("cannot allocate " + std::to_string(bytes) + " bytes");
    }
    const Bytes result(static_cast<std::byte*>(memory.get()), bytes);
    in->memory.push_back(std::move(memory));
    return result;
}

Result<std::uint64_t> Endpoint::register_memory(std::size_t peer, std::span<std::byte> memory,
                                                Rights rights) {
    using Registered = Result<std::uint64_t>;
    Inside* const in = open_inside();
    if (in == nullptr) return Registered::failure("the Endpoint is closed");
    const host::OneUser::Call call(in->user);
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    if (in->node.register_memory(peer, address, memory, rights)) {
        return static_cast<std::uint64_t>(address);
    }
    return Registered::failure(peer >= nodes() || peer == self()
                                   ? "no peer " + std::to_string(peer)
                                   : "memory overlaps what is registered for peer " +
                                         std::to_string(peer));
}

Status Endpoint::unregister_memory(std::size_t peer, std::uint64_t address) {
    Inside* const in = open_inside();
    if (in == nullptr) return Status::closed;
    const host::OneUser::Call call(in->user);
    return in->node.unregister_memory(peer, address);
}

std::size_t Endpoint::poll() {
    Inside* const in = open_inside();
    if (in == nullptr) return 0;
    const host::OneUser::Call call(in->user);
    return in->poll();
}

bool Endpoint::wait(const std::function<bool()>& until, std::chrono::milliseconds limit) {
    Inside* const in = open_inside();
    if (in == nullptr) return false;
    const host::OneUser::Call call(in->user);
    return in->wait(until, limit);
}

bool Endpoint::Inside::wait(const std::function<bool()>& until, std::chrono::milliseconds limit) {
    Instant now = clock.now();
    const Instant end = now + host::duration_of(limit);
    const Awaiting awaiting(node);
    bool met = until();
    while (!met && !node.polling()) {
        const std::size_t handled = node.poll(now);
        met = until();
        if (handled > 0) spin.heard(now);
        if (met || now >= end) break;
        const bool busy = handled > 0 || node.keeps_back();
        if (!busy && spin.look_again(now)) {
            now = clock.again();
            continue;
        }
        if (!busy) {
            host::wait_until(node.wire(), clock.steady(), std::min(end, node.next_deadline()));
        }
        now = clock.now();
    }
    return met;
}

bool Endpoint::idle() const {
    const Inside* const in = open_inside();
    return in == nullptr || in->node.idle();
}

PeerCounters Endpoint::counters(std::size_t peer) const {
    const Inside* const in = open_inside();
    return in != nullptr ? in->node.counters(peer) : PeerCounters();
}

}  // namespace wireproof::am
