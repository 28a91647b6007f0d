// One turn of Node. Inline functions are defined before their callers.
#include <type_traits>

#include "wireproof/front/am/node.hpp"
#include "wireproof/front/am/status_of.hpp"

namespace wireproof::am {
namespace {

// A peer that sends without end must not keep a turn from its timers and from its end. Without such
// a flood, a turn receives far fewer frames.
constexpr std::size_t frames_a_turn = 4096;

/// A cheap answer for the connection that carries only short messages. With no message that waits,
/// begin_run() begins none.
[[gnu::always_inline]] inline bool is_quiet(Connection& connection) {
    const bool waits = connection.sending(Channel::request).waiting() > 0 ||
                       connection.sending(Channel::reply).waiting() > 0;
    return !waits && connection.predicting() && connection.begin_run() == RunStart::quiet;
}

}  // namespace

[[gnu::always_inline]] inline void Node::run(std::size_t peer, HandlerId handler,
                                             const Message& message, bool may_refuse, bool alone) {
    const Handler* const function = handlers_.find(handler);
    if (function == nullptr) return miss_handler(peer, handler, may_refuse);
    try {
        const Turn::Handling handling(turn_, peer, alone);
        (*function)(message);
    } catch (...) {
        change_handlers();
        throw;
    }
    if (handlers_.must_change()) change_handlers();
}

void Node::miss_handler(std::size_t peer, HandlerId handler, bool may_refuse) {
    if (may_refuse) {
        (void)mark_ready(peer).refuse(handler);
    } else {
        ++peers_[peer].unhandled_replies;
    }
}

/// Runs what the connection delivers. Usually there is one message and nothing after it. `alone`:
/// the frame that it received last came alone.
std::size_t Node::deliver_all(std::size_t peer, bool alone) {
    Connection& connection = peers_[peer].connection;
    std::size_t count = 0;
    if (const auto* message = connection.take_message()) {
        run(peer, message->handler, message_of(peer, message->arguments()), message->is_request,
            alone);
        ++count;
    }
    return connection.nothing_drawn() ? count : count + deliver_more(peer, alone);
}

[[gnu::noinline]] std::size_t Node::deliver_more(std::size_t peer, bool alone) {
    std::size_t count = 0;
    Connection& connection = peers_[peer].connection;
    while (true) {
        while (const auto* message = connection.take_message()) {
            run(peer, message->handler, message_of(peer, message->arguments()), message->is_request,
                alone);
            ++count;
        }
        const auto delivery = connection.next_delivery();
        if (!delivery) return count;
        deliver(peer, *delivery, alone);
        ++count;
    }
}

[[gnu::noinline]] void Node::deliver(std::size_t peer, const Delivery& delivery, bool alone) {
    if (const auto* request = std::get_if<Request>(&delivery)) {
        run(peer, request->handler, message_of(peer, request->arguments), true, alone);
    } else if (const auto* reply = std::get_if<Reply>(&delivery)) {
        run(peer, reply->handler, message_of(peer, reply->arguments), false, alone);
    } else if (const auto* stored = std::get_if<Stored>(&delivery)) {
        Message message(this, peer, {});
        message.memory_ = stored->memory;
        message.argument_ = stored->argument;
        run(peer, stored->handler, message, true, alone);
    } else if (const auto* store = std::get_if<StoreEnded>(&delivery)) {
        end_transfer(peer, store->tag, status_of(store->reason));
    } else if (const auto* got = std::get_if<GetEnded>(&delivery)) {
        end_transfer(peer, got->tag, status_of(got->reason));
    } else if (const auto* refused = std::get_if<Refused>(&delivery)) {
        const auto handler = static_cast<std::uint16_t>(refused->handler);
        near_.missed(peer, handler);
        handlers_.on_refused(peer, handler);
    } else if (std::holds_alternative<SessionBegan>(delivery)) {
        wire_.any().settle(PeerId(peer));
        meet(peer);
        mark_ready(peer).set_awaiting(awaiting_told_);
    } else if (const auto* fate = std::get_if<FateUnknown>(&delivery)) {
        note_undelivered(peer, *fate);
    } else if (const auto* ended = std::get_if<SessionEnded>(&delivery)) {
        report_lost(peer, *ended);
    }
}

/// Handles what an interrupted turn left: its frames are still lent, and ended transfers still
/// occupy their places. It is not known which peers have something to send, so all are marked.
std::size_t Node::deliver_rest() {
    std::size_t handled = 0;
    for (std::size_t i = 0; i < met_.size(); ++i) {
        mark_ready(met_[i]);
        handled += deliver_all(met_[i]);
    }
    return handled;
}

/// Called after frames of the peer were handled. Usually one frame came, and either nothing has to
/// be sent or its reply has left already.
[[gnu::always_inline]] inline void Node::note_frames(std::size_t peer) {
    Connection& connection = peers_[peer].connection;
    if (!is_quiet(connection)) {
        seen_.add(peer);
        return ready_.add(peer);
    }
    deadlines_.bring_forward(peer, connection.take_soonest_set());
}

template <class W>
std::size_t Node::receive(W& wire, Instant now) {
    std::size_t handled = 0;
    for (std::size_t received = 0; received < frames_a_turn;) {
        const auto frame = wire.receive(now);
        if (!frame) break;
        ++received;
        const auto from = static_cast<std::size_t>(frame->from);
        if (!is_peer(from)) continue;
        const bool alone = is_alone(wire);
        if constexpr (std::is_same_v<W, ShmWire>) {
            if (alone) {
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
        handled += deliver_all(from, alone);
        received += receive_following(connection, wire, now).frames;
        note_frames(from);
        if (bare && connection.wants_buffers()) {
            pool.wait(now, from, connection);
            deadlines_.set(entry_of(pool), now);  // the pool may serve it at once
        }
    }
    return handled;
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

std::size_t Node::run_timers(Instant now) {
    std::size_t handled = 0;
    for (std::size_t left = deadlines_.size(); left > 0; --left) {
        if (deadlines_.earliest() > now) break;
        const std::size_t peer = deadlines_.first();
        if (peer >= nodes_) {
            tend_pool(now, pools_[peer - nodes_]);
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

/// A full lane may have room again after the flush. If no frame could be sent, the wire is full and
/// the loop ends. `may_hold`: requests may wait for more.
template <class W>
void Node::send(W& wire, Instant now, bool may_hold) {
    if (ready_.empty()) return wire.flush(now);  // no peer for which requests are held back
    const Instant held_since = waiting_.held_since(now);
    const auto holds = [&](Connection& connection) {
        return may_hold && now - held_since < connection.config().coalesce_for &&
               connection.may_coalesce();
    };
    bool held = false;
    bool more = true;
    while (more) {
        more = false;
        ready_.keep_if([&](std::size_t number) {
            Peer& peer = peers_[number];
            bool keeps = true;
            if (holds(peer.connection)) {
                held = true;
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
    waiting_.sent(held ? held_since : never);
}

void Node::push(Instant now) {
    if (turn_.runs()) return;
    waiting_.pushed();
    wire_.with([&](auto& wire) { send(wire, now, false); });
}

std::size_t Node::poll(Instant now) {
    if (turn_.runs()) return 0;
    return wire_.with([&](auto& wire) { return turn(wire, now); });
}

template <class W>
std::size_t Node::turn(W& wire, Instant now) {
    const bool nothing_asked = ready_.empty() && !transfers_.any_ended() &&
                               awaiting_ == awaiting_told_ && !turn_.was_interrupted();
    if (nothing_asked && now < deadlines_.earliest()) {
        waiting_.left();
        if constexpr (std::is_same_v<W, ShmWire>) {
            if (!delay_.is_due(now)) return 0;
            if (delay_.waits()) wire.expect_single();
        }
        if (wire.is_still(now)) {
            wire.expect_single();
            if constexpr (std::is_same_v<W, ShmWire>) delay_.in_vain();
            return 0;
        }
    }
    return turn_for_something(wire, now);
}

template <class W>
[[gnu::noinline]] std::size_t Node::turn_for_something(W& wire, Instant now) {
    Turn::Running running(turn_);
    std::size_t handled = running.resumes() ? deliver_rest() : 0;
    const bool may_hold = waiting_.begin_turn(running.begin(now));
    if (waiting_.any_asked()) {
        send(wire, now, may_hold);  // before the received frames are handled
        waiting_.taken();
    }
    if (transfers_.any_ended()) handled += transfers_.run_ended();
    handled += receive(wire, now);
    if (may_have_event(wire)) handled += take_events(wire, now);
    if (awaiting_ != awaiting_told_) tell_awaiting();
    if (now >= deadlines_.earliest()) handled += run_timers(now);
    send(wire, now, may_hold);
    running.complete();
    return handled;
}

}  // namespace wireproof::am
