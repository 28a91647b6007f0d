#include "wireproof/front/am/node.hpp"

#include <algorithm>

#include "wireproof/core/pump.hpp"
#include "wireproof/front/am/status_of.hpp"
#include "wireproof/host/split_wire.hpp"

namespace wireproof::am {
namespace {

// A peer that sends without end must not keep a turn from its timers and from its end. Without such
// a flood, a turn receives far fewer frames.
constexpr std::size_t frames_a_turn = 4096;

// Questions that some wires answer more cheaply than by receive() or next_event().

template <class W>
bool is_still(const W& wire, Instant now) {
    if constexpr (requires { wire.is_still(now); }) return wire.is_still(now);
    return false;
}

template <class W>
void expect_single(W& wire) {
    if constexpr (requires { wire.expect_single(); }) wire.expect_single();
}

template <class W>
bool may_have_event(const W& wire) {
    if constexpr (requires { wire.has_event(); }) return wire.has_event();
    return true;
}

/// The shared memory of a wire, if it has some.
ShmWire* shm_in(host::AnyWire& wire) {
    if (auto* const split = wire.as<host::SplitWire>()) return split->near().as<ShmWire>();
    return wire.as<ShmWire>();
}

/// True: the frame received last is the only one of this turn.
template <class W>
bool is_alone(const W& wire) {
    if constexpr (requires { wire.is_alone(); }) return wire.is_alone();
    return false;
}

}  // namespace

Node::Node(host::AnyWire wire, const Config& config, std::size_t nodes)
    : Node(std::move(wire), config, std::vector<Congestion>(nodes, config.congestion)) {}

Node::Node(host::AnyWire wire, const Config& config, const std::vector<Congestion>& congestion,
           std::size_t active_peers, const NearPeers& near)
    : wire_(std::move(wire)),
      shm_(shm_in(wire_)),
      only_shm_(wire_.as<ShmWire>() != nullptr),
      self_(config.node),
      nodes_(congestion.size()),
      poll_every_(config.poll_every),
      coalesce_for_(config.coalesce_for),
      pool_(config, nodes_, active_peers),
      ready_(nodes_),
      met_(nodes_),
      seen_(nodes_),
      deadlines_(nodes_ + 2) {
    memory_.resize(nodes_);
    peers_.reserve(nodes_);
    if (!near.are_near.empty()) near_pool_.emplace(near.config, nodes_, active_peers);
    for (std::size_t i = 0; i < nodes_; ++i) {
        const bool is_near = near_pool_ && near.are_near[i];
        Config with_peer = is_near ? near.config : config;
        with_peer.peer = static_cast<std::uint16_t>(i);
        with_peer.congestion = is_near ? Congestion::off : congestion[i];
        peers_.emplace_back(with_peer, memory_[i], wire_.lane(PeerId(i)));
        peers_.back().connection.bind_handlers(handlers_here_);
        // The launcher may have agreed on the session.
        if (peers_.back().connection.established()) meet(i);
        peers_.back().pool = is_near ? &*near_pool_ : &pool_;
        if (only_shm_ || (is_near && shm_ != nullptr)) {
            peers_.back().shm_lane = &shm_->lane(PeerId(i));
            // The node checks neither the peer's number nor the frame's length when it sends a
            // message by itself.
            WIREPROOF_CHECK(shm_->nodes() == nodes_ && shm_->frame_max() >= with_peer.packet_max);
        }
    }
}

void Node::handle(std::uint16_t handler, Handler run) {
    WIREPROOF_CHECK(handler != 0);
    if (in_handler_) {  // a handler that is running must not be replaced
        handlers_to_be_.emplace_back(handler, std::move(run));
        return;
    }
    if (handler >= handlers_.size()) handlers_.resize(handler + std::size_t{1});
    const bool taken_away = handlers_[handler] && !run;
    handlers_here_.set(static_cast<HandlerId>(handler), static_cast<bool>(run));
    handlers_[handler] = std::move(run);
    if (taken_away && shm_ != nullptr) shm_->set_notice(++handlers_taken_away_);
}

// Calls of the user.

// AM-23: a handler sends only a reply.
Status Node::post(std::size_t peer, std::uint16_t handler, ConstBytes words) {
    if (in_handler_) return Status::not_allowed;
    if (!can_ask(peer)) return Status::no_such_peer;
    ++asked_since_poll_;
    if (!may_ask(peer)) return refuse(peer);
    const Status status =
        status_of(mark_ready(peer).request(static_cast<HandlerId>(handler), words));
    more_asked_ = more_asked_ || status == Status::ok;
    return status;
}

Status Node::reply(std::uint16_t handler, ConstBytes words) {
    if (!in_handler_) return Status::not_allowed;
    const auto now = [this] { return await_next(last_turn_); };
    if (answers_at_once_ && leave_at_once<Channel::reply>(current_peer_, handler, words, now)) {
        return Status::ok;
    }
    return status_of(mark_ready(current_peer_).reply(static_cast<HandlerId>(handler), words));
}

// One turn. Inline functions are defined before their callers.

[[gnu::always_inline]] inline void Node::run(std::size_t peer, HandlerId handler,
                                             const Message& message, bool may_refuse) {
    const auto id = static_cast<std::size_t>(handler);
    if (id >= handlers_.size() || !handlers_[id]) return miss_handler(peer, handler, may_refuse);
    current_peer_ = peer;
    try {
        const While in_handler(in_handler_);
        handlers_[id](message);
    } catch (...) {
        take_handlers_to_be();
        throw;
    }
    if (!handlers_to_be_.empty()) take_handlers_to_be();
}

// Usually there is one message and nothing after it.
std::size_t Node::deliver_all(std::size_t peer) {
    Connection& connection = peers_[peer].connection;
    std::size_t count = 0;
    if (const auto* message = connection.take_message()) {
        run(peer, message->handler, Message(this, peer, message->arguments()), message->is_request);
        ++count;
    }
    return connection.nothing_drawn() ? count : count + deliver_more(peer);
}

[[gnu::noinline]] std::size_t Node::deliver_more(std::size_t peer) {
    std::size_t count = 0;
    Connection& connection = peers_[peer].connection;
    while (true) {
        while (const auto* message = connection.take_message()) {
            run(peer, message->handler, Message(this, peer, message->arguments()),
                message->is_request);
            ++count;
        }
        const auto delivery = connection.next_delivery();
        if (!delivery) return count;
        deliver(peer, *delivery);
        ++count;
    }
}

void Node::push(Instant now) {
    if (polling_) return;
    coalescing_ = more_asked_ = false;
    on_wire([&](auto& wire) { send(wire, now); });
}

template <class W>
std::size_t Node::turn(W& wire, Instant now) {
    const bool nothing_asked =
        ready_.empty() && finished_.empty() && awaiting_ == awaiting_told_ && !mid_turn_;
    if (nothing_asked && now < deadlines_.earliest()) {
        asked_since_poll_ = 0;  // all requests have left
        more_asked_ = false;
        if constexpr (std::is_same_v<W, ShmWire>) {
            if (!delay_.is_due(now)) return 0;
            if (delay_.waits()) wire.expect_single();
        }
        if (is_still(wire, now)) {
            expect_single(wire);
            if constexpr (std::is_same_v<W, ShmWire>) delay_.in_vain();
            return 0;
        }
    }
    return turn_for_something(wire, now);
}

template <class W>
[[gnu::noinline]] std::size_t Node::turn_for_something(W& wire, Instant now) {
    const While polling(polling_);
    answers_at_once_ = false;  // an exception in a handler may have left it set
    std::size_t handled = std::exchange(mid_turn_, true) ? deliver_rest() : 0;
    const bool soon = now - std::exchange(last_turn_, now) < coalesce_for_;
    coalescing_ = std::exchange(more_asked_, false) && soon;
    if (asked_since_poll_ > 0) {
        send(wire, now);  // posted messages need not wait until the received frames are handled
        asked_since_poll_ = 0;
    }
    if (!finished_.empty()) handled += end_finished();
    std::size_t received = 0;
    while (received < frames_a_turn) {
        const auto frame = wire.receive(now);
        if (!frame) break;
        ++received;
        const auto from = static_cast<std::size_t>(frame->from);
        if (!is_peer(from)) continue;
        answers_at_once_ = is_alone(wire);
        if constexpr (std::is_same_v<W, ShmWire>) {
            if (answers_at_once_) {
                delay_.came();
                wire.lane(frame->from).fetch_room();  // for the reply, or the next request
            }
        }
        Connection& connection = peers_[from].connection;
        BufferPool& pool = *peers_[from].pool;
        const bool bare = pool.use_of(from) == BufferPool::Use::none;
        if (bare) {
            const Arrival arrival = connection.read(*frame);
            if (connection.would_put_off(arrival)) lend(now, from, BufferPool::Use::answer);
            connection.on_arrival(now, arrival);
        } else {
            connection.on_frame(now, *frame);
        }
        handled += deliver_all(from);
        received += receive_following(connection, wire, now).frames;
        note_frames(from);
        if (bare && connection.wants_buffers()) {
            pool.wait(now, from, connection);
            deadlines_.set(pool_entry(pool), now);  // the pool may serve it at once
        }
    }
    return handled + rest_of_turn(wire, now);
}

/// Called after frames of the peer were handled. Usually one frame came, and either nothing has to
/// be sent or its reply has left already.
[[gnu::always_inline]] inline void Node::note_frames(std::size_t peer) {
    Connection& connection = peers_[peer].connection;
    const bool quiet = connection.predicting() && connection.begin_run() == RunStart::quiet;
    if (!quiet) {
        seen_.add(peer);
        return ready_.add(peer);
    }
    deadlines_.bring_forward(peer, connection.take_soonest_set());
}

/// Called after a single message left at `now`. With only one peer, the next frame usually answers
/// it.
Instant Node::await_next(Instant now) {
    if (nodes_ == 2) delay_.begin(now);
    return now;
}

/// Called after all received frames were handled.
template <class W>
std::size_t Node::rest_of_turn(W& wire, Instant now) {
    std::size_t handled = 0;
    answers_at_once_ = false;
    if (may_have_event(wire)) handled += take_events(wire, now);
    if (awaiting_ != awaiting_told_) tell_awaiting();
    if (now >= deadlines_.earliest()) handled += run_timers(now);
    send(wire, now);
    coalescing_ = false;
    mid_turn_ = false;
    return handled;
}

std::size_t Node::poll(Instant now) {
    if (polling_) return 0;
    return on_wire([&](auto& wire) { return turn(wire, now); });
}

template <class W>
std::size_t Node::take_events(W& wire, Instant now) {
    std::size_t handled = 0;
    while (const auto event = wire.next_event()) {
        const auto from = static_cast<std::size_t>(event->first);
        if (!is_peer(from)) continue;
        mark_ready(from).on_wire_event(now, event->second);
        handled += deliver_all(from);
    }
    return handled;
}

// Handles what an interrupted turn left: its frames are still lent, and ended transfers still
// occupy their places. It is not known which peers have something to send, so all are marked.
std::size_t Node::deliver_rest() {
    std::size_t handled = 0;
    for (std::size_t i = 0; i < met_.size(); ++i) {
        mark_ready(met_[i]);
        handled += deliver_all(met_[i]);
    }
    return handled;
}

void Node::tell_awaiting() {
    awaiting_told_ = awaiting_;
    for (std::size_t i = 0; i < met_.size(); ++i) {
        const Connection& connection = peers_[met_[i]].connection;
        const bool awaiting = awaiting_told_ && connection.established();
        if (awaiting != connection.awaiting()) mark_ready(met_[i]).set_awaiting(awaiting);
    }
}

std::size_t Node::run_timers(Instant now) {
    std::size_t handled = 0;
    for (std::size_t left = deadlines_.size(); left > 0; --left) {
        if (deadlines_.earliest() > now) break;
        const std::size_t peer = deadlines_.first();
        if (peer >= nodes_) {
            tend_pool(now, peer == nodes_ ? pool_ : *near_pool_);
            continue;
        }
        const Connection& connection = peers_[peer].connection;
        const bool due = connection.next_deadline() <= now;
        if (due) mark_ready(peer).on_deadline(now);
        deadlines_.set(peer, connection.next_deadline());
        if (due) handled += deliver_all(peer);
    }
    return handled;
}

bool Node::lend(Instant now, std::size_t peer, BufferPool::Use use) {
    BufferPool& pool = *peers_[peer].pool;
    const bool lent = pool.lend(now, peer, peers_[peer].connection, use);
    if (lent) meet(peer);
    deadlines_.bring_forward(pool_entry(pool), pool.next_look());
    return lent;
}

void Node::tend_pool(Instant now, BufferPool& pool) {
    pool.look(now);
    while (const auto peer = pool.serve_next(now)) {
        meet(*peer);
        mark_ready(*peer);
    }
    deadlines_.set(pool_entry(pool), pool.next_look());
}

// A full lane may have room again after the flush. If no frame could be sent, the wire is full and
// the loop ends.
template <class W>
void Node::send(W& wire, Instant now) {
    if (!std::exchange(held_, false)) held_since_ = now;
    if (ready_.empty()) return wire.flush(now);
    const auto may_hold = [&](Connection& connection) {
        return coalescing_ && now - held_since_ < connection.config().coalesce_for &&
               connection.may_coalesce();
    };
    bool more = true;
    while (more) {
        more = false;
        ready_.keep_if([&](std::size_t number) {
            Peer& peer = peers_[number];
            bool keeps = true;
            if (may_hold(peer.connection)) {
                held_ = true;
            } else {
                const Transmitted sent = transmit(peer.connection, lane_of(wire, peer), now);
                keeps = sent.lane_full;
                more = more || (sent.frames > 0 && sent.lane_full);
            }
            deadlines_.bring_forward(number, peer.connection.take_soonest_set());
            return keeps;
        });
        wire.flush(now);
    }
}

Instant Node::next_deadline() const {
    if (keeps_back()) return last_turn_;
    while (deadlines_.size() > 0 && deadlines_.first() < nodes_) {
        const std::size_t peer = deadlines_.first();
        const Instant deadline = peers_[peer].connection.next_deadline();
        if (deadline == deadlines_.earliest()) break;
        deadlines_.set(peer, deadline);
    }
    return earliest(wire_.next_deadline(), deadlines_.earliest());
}

[[gnu::noinline]] void Node::deliver(std::size_t peer, const Delivery& delivery) {
    if (const auto* request = std::get_if<Request>(&delivery)) {
        run(peer, request->handler, Message(this, peer, request->arguments), true);
    } else if (const auto* reply = std::get_if<Reply>(&delivery)) {
        run(peer, reply->handler, Message(this, peer, reply->arguments), false);
    } else if (const auto* stored = std::get_if<Stored>(&delivery)) {
        Message message(this, peer, {});
        message.memory_ = stored->memory;
        message.argument_ = stored->argument;
        run(peer, stored->handler, message, true);
    } else if (const auto* store = std::get_if<StoreEnded>(&delivery)) {
        end_transfer(peer, store->tag, status_of(store->reason));
    } else if (const auto* got = std::get_if<GetEnded>(&delivery)) {
        end_transfer(peer, got->tag, status_of(got->reason));
    } else if (const auto* refused = std::get_if<Refused>(&delivery)) {
        peers_[peer].handlers.set(refused->handler, false);
        report_refused(peer, static_cast<std::uint16_t>(refused->handler));
    } else if (std::holds_alternative<SessionBegan>(delivery)) {
        wire_.settle(PeerId(peer));
        meet(peer);
        mark_ready(peer).set_awaiting(awaiting_told_);
    } else if (const auto* fate = std::get_if<FateUnknown>(&delivery)) {
        note_undelivered(peer, *fate);
    } else if (const auto* ended = std::get_if<SessionEnded>(&delivery)) {
        report_lost(peer, *ended);
    }
}

void Node::miss_handler(std::size_t peer, HandlerId handler, bool may_refuse) {
    if (may_refuse) {
        (void)mark_ready(peer).refuse(handler);
    } else {
        ++peers_[peer].unhandled_replies;
    }
}

void Node::take_handlers_to_be() {
    for (auto& [number, next] : std::exchange(handlers_to_be_, {})) handle(number, std::move(next));
}

void Node::report_refused(std::size_t peer, std::uint16_t handler) {
    const auto report = refused_;
    if (report && *report) (*report)(peer, handler);
}

PeerCounters Node::counters(std::size_t peer) const {
    if (!is_peer(peer)) return {};
    const Stats& stats = connection(peer).stats();
    PeerCounters counters;
    counters.received = stats.received;
    counters.mismatched = stats.hellos_mismatched;
    for (const std::uint64_t count : stats.sent) counters.sent += count;
    counters.resent = stats.resent;
    counters.acks = stats.sent_of(Kind::ack);
    counters.nacks = stats.sent_of(Kind::nack);
    counters.overruns = stats.overruns;
    counters.marked = stats.marked;
    counters.marked_at_peer = stats.marked_at_peer;
    counters.keepalives = stats.sent_of(Kind::keepalive);
    counters.hellos = stats.sent_of(Kind::hello);
    counters.timeouts = stats.keepalive_timeouts;
    counters.sessions = stats.sessions;
    counters.unhandled_replies = peers_[peer].unhandled_replies;
    counters.unsent = wire_.trouble(PeerId(peer)).frames_refused;
    counters.refused = peers_[peer].refused;
    return counters;
}

static_assert(verdict_names == rx_verdict_names);

}  // namespace wireproof::am
