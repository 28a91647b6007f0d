// Endpoint: a Node on a UDP socket or on shared memory, and the steady clock.
#include <algorithm>
#include <deque>
#include <limits>
#include <optional>
#include <random>

#include "wireproof/am.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/udp_node.hpp"
#include "wireproof/host/spin_budget.hpp"
#include "wireproof/host/spin_clock.hpp"
#include "wireproof/host/wait.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::am {

std::string_view name_of(Status status) {
    constexpr std::array<std::string_view, 8> names = {"ok",          "would_block",  "too_long",
                                                       "not_allowed", "no_such_peer", "peer_lost",
                                                       "no_handler",  "forbidden"};
    return names[static_cast<std::size_t>(status)];
}

std::uint32_t Words::operator[](std::size_t index) const {
    return index < size() ? load_le<std::uint32_t>(bytes_.subspan(4 * index).first<4>()) : 0;
}

namespace {

constexpr std::string_view shm_prefix = "shm:";

bool is_shm(const std::string& peer) {
    return peer.starts_with(shm_prefix);
}

FaultRates rates_of(const Faults& faults) {
    return {faults.loss, faults.bit_error, faults.duplicate, faults.reorder};
}

Congestion congestion_to(const Address& peer, CongestionControl wanted) {
    const bool on = wanted == CongestionControl::always ||
                    (wanted == CongestionControl::between_hosts && !peer.is_loopback());
    return on ? Congestion::on : Congestion::off;
}

Expected<host::AnyWire> open_shm(const Options& options, const Config& config) {
    const std::string& first = options.peers.front();
    for (const std::string& peer : options.peers) {
        if (peer == first) continue;
        return unexpected("peers on shared memory have one name, not " + first + " and " + peer);
    }
    ShmWire::Config shm;
    shm.name = first.substr(shm_prefix.size());
    shm.job = options.job;
    shm.node = options.self;
    shm.nodes = options.peers.size();
    shm.frame_max = config.packet_max;
    auto wire = ShmWire::open(shm);
    if (!wire) return tl::unexpected(wire.error());
    const FaultRates rates = rates_of(options.faults);
    if (rates.loss == 0 && rates.bit_error == 0 && rates.duplicate == 0 && rates.reorder == 0) {
        return host::AnyWire(std::move(*wire));
    }
    FaultyWire<ShmWire>::Config faults;
    faults.rates = rates;
    faults.seed = config.seed;
    faults.describe = describe_ethernet;
    return host::AnyWire(FaultyWire<ShmWire>(std::move(*wire), std::move(faults)));
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

}  // namespace

Status Message::reply(std::uint16_t handler, std::span<const std::uint32_t> words) const {
    return with_wire_words(words, [&](ConstBytes bytes) { return node_->reply(handler, bytes); });
}

struct Endpoint::Inside {
    Inside(host::AnyWire wire, const Config& config, std::size_t nodes)
        : node(std::move(wire), config, nodes) {}
    Inside(UdpNode wire, const Config& config, const std::vector<Congestion>& congestion)
        : udp(std::move(wire)), node(udp->wire(), config, congestion) {}

    host::SpinClock clock;
    host::SpinBudget spin;
    std::optional<UdpNode> udp;                 // which the node's wire then borrows
    std::deque<std::vector<std::byte>> memory;  // allocated where no wire shares any
    Node node;
};

Endpoint::Endpoint(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Endpoint::Endpoint(Endpoint&&) noexcept = default;
Endpoint& Endpoint::operator=(Endpoint&&) noexcept = default;
Endpoint::~Endpoint() = default;

Result<Endpoint> Endpoint::open(const Options& options) {
    using Opened = Result<Endpoint>;
    if (options.self >= options.peers.size()) {
        return Opened::failure("node " + std::to_string(options.self) + " is not one of the " +
                               std::to_string(options.peers.size()) + " peers");
    }
    if (options.peers.size() > 1 + std::numeric_limits<std::uint16_t>::max()) {
        return Opened::failure(std::to_string(options.peers.size()) +
                               " peers are more than 16 bits can number");
    }
    const bool shm = is_shm(options.peers.front());
    UdpNode::Options udp;
    for (const std::string& text : options.peers) {
        if (shm) break;
        const auto address = Address::parse(text);
        if (!address) return Opened::failure(address.error().message);
        udp.peers.push_back(*address);
    }
    std::uint64_t seed = options.seed;
    if (seed == 0) {
        std::random_device system;
        seed = (std::uint64_t{system()} << 32) | system();
    }
    Config config = shm ? Config::shared_memory() : Config::ethernet(options.mtu);
    config.node = static_cast<std::uint16_t>(options.self);
    config.job = options.job;
    config.seed = seed;
    config.trusts_payload = !shm && options.trust_payload;
    config.give_up_after(host::duration_of(options.peer_timeout));
    if (const auto checked = config.check(); !checked) {
        return Opened::failure("mtu " + std::to_string(options.mtu) + ": " +
                               checked.error().message);
    }
    if (shm) {
        auto wire = open_shm(options, config);
        if (!wire) return Opened::failure(wire.error().message);
        return Endpoint(std::make_unique<Inside>(std::move(*wire), config, options.peers.size()));
    }
    udp.local = udp.peers[options.self];
    if (options.peers.size() == 2) udp.only_peer = PeerId(1 - options.self);
    udp.frame_max = config.packet_max;
    udp.faults = rates_of(options.faults);
    udp.seed = seed;
    auto wire = UdpNode::open(udp);
    if (!wire) return Opened::failure(wire.error().message);
    std::vector<Congestion> congestion;
    for (const Address& peer : udp.peers) {
        congestion.push_back(congestion_to(peer, options.congestion_control));
    }
    return Endpoint(std::make_unique<Inside>(std::move(*wire), config, congestion));
}

std::size_t Endpoint::self() const {
    return inside_->node.self();
}

std::size_t Endpoint::nodes() const {
    return inside_->node.nodes();
}

std::size_t Endpoint::words_max() const {
    const std::size_t other = self() == 0 && nodes() > 1 ? 1 : 0;
    return inside_->node.connection(other).words_max();
}

void Endpoint::handle(std::uint16_t handler, Handler run) {
    inside_->node.handle(handler, std::move(run));
}

void Endpoint::on_peer_lost(std::function<void(const PeerLost&)> report) {
    inside_->node.on_peer_lost(std::move(report));
}

void Endpoint::on_refused(std::function<void(std::size_t, std::uint16_t)> report) {
    inside_->node.on_refused(std::move(report));
}

Status Endpoint::request(std::size_t peer, std::uint16_t handler,
                         std::span<const std::uint32_t> words) {
    return with_wire_words(words, [&](ConstBytes bytes) {
        const Status status =
            inside_->node.ask(peer, handler, bytes, [this] { return inside_->clock.now(); });
        if (inside_->node.wants_turn()) poll();
        return status;
    });
}

Status Endpoint::store_async(std::size_t peer, std::uint64_t address,
                             std::span<const std::byte> source, std::uint16_t handler,
                             std::uint32_t argument, Done done) {
    return inside_->node.store_async(peer, address, source, handler, argument, std::move(done));
}

Status Endpoint::store(std::size_t peer, std::uint64_t address, std::span<const std::byte> source,
                       std::uint16_t handler, std::uint32_t argument) {
    if (inside_->node.polling()) return Status::not_allowed;
    Status posted = Status::would_block;
    Status result = Status::ok;
    bool ended = false;
    const auto post = [&] {
        if (const auto at_once =
                inside_->node.store_at_once(peer, address, source, handler, argument, {})) {
            posted = *at_once;
            ended = posted == Status::ok;
            return posted != Status::would_block;
        }
        posted = store_async(peer, address, source, handler, argument, [&](Status status) {
            result = status;
            ended = true;
        });
        return posted != Status::would_block;
    };
    while (!wait(post)) {
    }
    if (posted != Status::ok) return posted;
    if (ended) {
        if (inside_->node.wants_turn()) {
            poll();
        } else {
            inside_->node.push(inside_->clock.now());  // the handler hears of it
        }
        return Status::ok;
    }
    while (!wait([&] { return ended; })) {
    }
    return result;
}

Status Endpoint::get(std::size_t peer, std::uint64_t address, std::span<std::byte> destination,
                     Done done) {
    return inside_->node.get(peer, address, destination, std::move(done));
}

Result<std::span<std::byte>> Endpoint::allocate(std::size_t bytes) {
    auto shared = inside_->node.wire().allocate_shared(bytes);
    if (shared) return Bytes(*shared);
    return Bytes(inside_->memory.emplace_back(bytes));
}

Result<std::uint64_t> Endpoint::register_memory(std::size_t peer, std::span<std::byte> memory,
                                                Rights rights) {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    if (!inside_->node.register_memory(peer, address, memory, rights)) {
        return Result<std::uint64_t>::failure(peer >= nodes() || peer == self()
                                                  ? "no peer " + std::to_string(peer)
                                                  : "memory overlaps what is registered for peer " +
                                                        std::to_string(peer));
    }
    return static_cast<std::uint64_t>(address);
}

Status Endpoint::unregister_memory(std::size_t peer, std::uint64_t address) {
    return inside_->node.unregister_memory(peer, address);
}

std::size_t Endpoint::poll() {
    return inside_->node.poll(inside_->clock.now());
}

bool Endpoint::wait(const std::function<bool()>& until, std::chrono::milliseconds limit) {
    Inside& in = *inside_;
    Instant now = in.clock.now();
    const Instant end = now + host::duration_of(limit);
    const bool awaited = in.node.awaiting();
    in.node.set_awaiting(true);
    bool met = until();
    while (!met && !in.node.polling()) {
        const std::size_t handled = in.node.poll(now);
        met = until();
        if (handled > 0) in.spin.heard(now);
        if (met || now >= end) break;
        const bool busy = handled > 0 || in.node.keeps_back();
        if (!busy && in.spin.look_again(now)) {
            now = in.clock.again();
            continue;
        }
        if (!busy) {
            host::wait_until(in.node.wire(), in.clock.steady(),
                             std::min(end, in.node.next_deadline()));
        }
        now = in.clock.now();
    }
    in.node.set_awaiting(awaited);
    return met;
}

bool Endpoint::idle() const {
    return inside_->node.idle();
}

PeerCounters Endpoint::counters(std::size_t peer) const {
    return inside_->node.counters(peer);
}

}  // namespace wireproof::am
