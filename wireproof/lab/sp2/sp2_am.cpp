// The simulation spends each cost of a call where it occurs: work before the length of a packet is
// stored delays the packet, the other work delays only the program.
#include "wireproof/lab/sp2/sp2_am.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/base/random.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::lab {
namespace {

unsigned route_in_header(ConstBytes packet) {
    const auto header = am::decode(am::Layout::sp2, packet);
    return header ? header->route : 0;
}

sp2::Config routed(sp2::Config machine) {
    machine.route_of = route_in_header;
    return machine;
}

am::Config of_pair(const Sp2AmConfig& config, std::size_t node, std::size_t peer) {
    am::Config pair = config.protocol;
    pair.node = static_cast<std::uint16_t>(node);
    pair.peer = static_cast<std::uint16_t>(peer);
    pair.seed = mix64(config.protocol.seed + node);
    const auto [low, high] = std::minmax(node, peer);
    pair.cookie = mix64(config.cookie + low * config.machine.nodes + high) | 1;
    return pair;
}

}  // namespace

Sp2AmConfig Sp2AmConfig::of_nodes(std::size_t nodes) {
    Sp2AmConfig config;
    config.machine.nodes = nodes;
    const auto active_peers = static_cast<std::int64_t>(nodes) - 1;
    config.protocol.keepalive_after = config.protocol.keepalive_after * active_peers;
    config.protocol.keepalive_max = config.protocol.keepalive_max * active_peers;
    return config;
}

Sp2Am::Sp2Am(const Sp2AmConfig& config)
    : config_(config),
      machine_(routed(config.machine)),
      schedule_(config.machine.nodes),
      memory_(nodes() * (nodes() - 1)),
      ends_(memory_.size()),
      peers_(nodes()),
      waiting_(nodes(), Waiting{std::vector<bool>(nodes())}),
      counts_(nodes()),
      owed_(nodes()) {
    WIREPROOF_CHECK(config.protocol.check().has_value());
}

am::Connection& Sp2Am::at(std::size_t node, std::size_t peer) {
    auto& end = ends_[index(node, peer)];
    if (end == nullptr) {
        end = std::make_unique<am::Connection>(of_pair(config_, node, peer), memory(node, peer));
        peers_[node].push_back(peer);
    }
    return *end;
}

sim::RunResult Sp2Am::run(Sp2Program& program, const Done& done, sim::RunLimits limits) {
    program_ = &program;
    const auto step = [this](std::size_t node, Instant now) { return turn(node, now); };
    return sim::run(machine_, schedule_, step, done, limits);
}

// A node that received or sent something has its next turn at once. Otherwise it waits.
Instant Sp2Am::turn(std::size_t node, Instant now) {
    const std::uint64_t sent_before = machine_.wire(node).counts().sent;
    const bool took = poll(node, now);
    expire(node);
    send_waiting(node);
    // A call returns when all packets that may leave have left.
    const Instant wanted = waiting_[node].count > 0 ? never : program_->on_turn(node);
    const bool sent = machine_.wire(node).counts().sent > sent_before;
    return took || sent ? host(node).now() : std::min(wanted, next_deadline(node));
}

// Takes one message if there is one. The handler's replies leave within the call.
bool Sp2Am::poll(std::size_t node, Instant now) {
    ++counts_[node].polls;
    const auto frame = machine_.wire(node).receive(now);
    if (!frame) {
        host(node).spend(config_.costs.poll_empty);
        return false;
    }
    host(node).spend(config_.costs.message);
    const auto peer = static_cast<std::size_t>(frame->from);
    at(node, peer).on_frame(host(node).now(), *frame);
    deliver(node, peer);
    send_now(node, peer);
    host(node).spend(std::exchange(owed_[node], Duration()));
    return true;
}

void Sp2Am::deliver(std::size_t node, std::size_t peer) {
    while (const auto delivery = at(node, peer).next_delivery()) {
        program_->on_delivery(node, peer, *delivery);
    }
    touch(node, peer);
}

void Sp2Am::expire(std::size_t node) {
    for (const std::size_t peer : peers_[node]) {
        if (at(node, peer).next_deadline() > host(node).now()) continue;
        at(node, peer).on_deadline(host(node).now());
        deliver(node, peer);
    }
}

// The number of packets that fill the current word of the length array. A full word costs one
// access to the bus.
std::size_t Sp2Am::left_in_word(std::size_t node) {
    const std::size_t word = config_.machine.lengths_per_access;
    return word - machine_.wire(node).send_fifo().next() % word;
}

// The peers take turns. In all, they fill at most one word.
void Sp2Am::send_waiting(std::size_t node) {
    Waiting& waiting = waiting_[node];
    const std::size_t packets_max = left_in_word(node);
    std::size_t sent = 0;
    for (std::size_t i = 0; i < nodes() && waiting.count > 0; ++i) {
        const std::size_t peer = waiting.turn;
        waiting.turn = (waiting.turn + 1) % nodes();
        if (waiting.peers[peer]) sent += send(node, peer, packets_max - sent);
        if (sent == packets_max) break;
    }
    machine_.wire(node).flush(host(node).now());
}

std::size_t Sp2Am::send(std::size_t node, std::size_t peer, std::size_t packets_max) {
    sp2::AdapterLane& lane = machine_.wire(node).lane(PeerId{static_cast<std::uint16_t>(peer)});
    am::Connection& end = at(node, peer);
    for (std::size_t sent = 0; sent < packets_max; ++sent) {
        TxFrame* room = lane.claim();
        if (room == nullptr) return sent;
        if (!end.poll_transmit(host(node).now(), *room)) {
            if (waiting_[node].peers[peer]) --waiting_[node].count;
            waiting_[node].peers[peer] = false;
            return sent;
        }
        host(node).spend(cost_of(room->pieces()[0]));
        lane.commit();
    }
    return packets_max;
}

void Sp2Am::send_now(std::size_t node, std::size_t peer) {
    touch(node, peer);
    send(node, peer, left_in_word(node));
    machine_.wire(node).flush(host(node).now());
}

Duration Sp2Am::cost_of(ConstBytes packet) const {
    const auto header = am::decode(config_.protocol.layout, packet);
    WIREPROOF_CHECK(header.has_value());
    if (header->kind == am::Kind::chunk) return config_.costs.chunk_packet;
    if (!am::is_numbered(header->kind)) return config_.costs.control_packet;
    const int further = std::max(0, (header->count + 3) / 4 - 1);  // words
    return config_.costs.short_packet + config_.costs.further_word * further;
}

void Sp2Am::touch(std::size_t node, std::size_t peer) {
    if (!waiting_[node].peers[peer]) ++waiting_[node].count;
    waiting_[node].peers[peer] = true;
}

Instant Sp2Am::next_deadline(std::size_t node) const {
    Instant next = never;
    for (const std::size_t peer : peers_[node]) {
        next = std::min(next, ends_[index(node, peer)]->next_deadline());
    }
    return next;
}

am::PostStatus Sp2Am::request(std::size_t node, std::size_t peer, am::HandlerId handler,
                              ConstBytes arguments) {
    const am::PostStatus status = at(node, peer).request(handler, arguments);
    if (status == am::PostStatus::accepted) {
        ++counts_[node].requests;
        send_now(node, peer);
    }
    host(node).spend(config_.costs.request_call);
    ++counts_[node].request_polls;
    poll(node, host(node).now());
    return status;
}

am::PostStatus Sp2Am::reply(std::size_t node, std::size_t peer, am::HandlerId handler,
                            ConstBytes arguments) {
    owed_[node] = owed_[node] + config_.costs.reply_call;
    return at(node, peer).reply(handler, arguments);
}

am::PostStatus Sp2Am::store(std::size_t node, std::size_t peer,
                            const am::Connection::Store& store) {
    const am::PostStatus status = at(node, peer).store(store);
    if (status == am::PostStatus::accepted) send_now(node, peer);
    host(node).spend(config_.costs.store_call);
    return status;
}

}  // namespace wireproof::lab
