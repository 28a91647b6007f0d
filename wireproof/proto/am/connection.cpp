#include "wireproof/proto/am/connection.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/proto/am/unfinished.hpp"

namespace wireproof::am {

Connection::Connection(const Config& config, const MemoryTable& memory)
    : Connection(config, memory, ConnectionBuffers(config)) {}

Connection::Connection(const Config& config, const MemoryTable& memory, ConnectionBuffers buffers)
    : session_(config),
      sender_(config, std::move(buffers.send), std::move(buffers.replies)),
      receiver_(config, memory, std::move(buffers.receive), std::move(buffers.ended)),
      prediction_(config) {}

// Receiving.

void Connection::leave_fast_path() {
    prediction_.end();
    receiver_.deliveries.leave_frame();
}

[[gnu::noinline]] RxVerdict Connection::on_other(Instant now, const RxFrame& frame) {
    leave_fast_path();
    if (receiver_.accept_chunk_packet(now, frame, others())) {
        if (frame.after_overrun) receiver_.note_overrun();
        return note_verdict(now, RxVerdict::accepted);
    }
    return on_arrival(now, read(frame));
}

RxVerdict Connection::on_arrival(Instant now, const Arrival& arrival) {
    leave_fast_path();
    if (arrival.after_overrun) receiver_.note_overrun();
    const RxVerdict verdict = judge(now, arrival);
    if (session_.ended.active) receiver_.deliveries.drop();
    return note_verdict(now, verdict);
}

RxVerdict Connection::judge(Instant now, const Arrival& arrival) {
    if (session_.ended.active) return RxVerdict::refused;
    if (arrival.integrity == Integrity::damaged) return RxVerdict::corrupt;
    const std::size_t size = arrival.bytes.size();
    if (size < config().header_size() || size > config().packet_max) return RxVerdict::malformed;
    if (arrival.integrity == Integrity::check &&
        !checksum_holds(config().layout, arrival.head, arrival.bytes, config().trusts_payload)) {
        return RxVerdict::corrupt;
    }
    const auto header = header_of(arrival.head);
    if (!header) return RxVerdict::malformed;
    if (header->dst != config().node || header->src != config().peer) return RxVerdict::foreign;
    const ConstBytes behind = arrival.bytes.subspan(config().header_size());
    if (header->filler > behind.size()) return RxVerdict::malformed;
    const Packet packet = Packet::of(*header, behind.first(behind.size() - header->filler));
    const bool had_session = session_.established();
    if (header->kind == Kind::unknown) return session_.on_unknown(packet);
    const bool hello = header->kind == Kind::hello;
    RxVerdict verdict = RxVerdict::foreign;
    if (hello) verdict = session_.on_hello(now, packet);
    if (!hello && !session_.takes(now, header->cookie)) return RxVerdict::foreign;
    if (!had_session && session_.established()) receiver_.deliveries.add(SessionBegan{});
    if (hello) return verdict;
    if (session_.ended.active) return RxVerdict::refused;  // the old session is reported first
    receiver_.commit(now, header->ack, others());
    if (arrival.marked) receiver_.note_marked(*header, session_.stats);
    switch (header->kind) {
        case Kind::ack: return RxVerdict::control;
        case Kind::nack:
            if (header->id == nack_to_leaver) session_.leave.answered();
            receiver_.on_nack(now, packet, others());
            return RxVerdict::control;
        case Kind::keepalive:
            receiver_.on_keepalive(*header);
            if (header->count == keepalive_leaves) session_.leave.peer_left();
            return RxVerdict::control;
        default: break;
    }
    verdict = receiver_.on_numbered(packet, others());
    if (verdict == RxVerdict::accepted) session_.leave.peer_stays();
    return verdict;
}

bool Connection::would_put_off(const Arrival& arrival) const {
    if (!session_.is_open()) return false;
    const auto header = header_of(arrival.head);
    return header && header->cookie == session_.handshake.cookie() &&
           receiver_.would_put_off(*header);
}

std::uint32_t Connection::on_run(Instant now, const RxRun& run) {
    const std::uint32_t taken = receiver_.on_run(now, run, others());
    if (taken > 0) (void)note_verdict(now, RxVerdict::accepted, taken);
    return taken;
}

void Connection::on_wire_event(Instant, WireEvent event) {
    leave_fast_path();
    if (!session_.is_open()) return;
    using Why = SessionEnded::Why;
    session_.give_up(event == WireEvent::peer_gone ? Why::gone : Why::restarted);
    receiver_.deliveries.drop();
}

void Connection::on_deadline(Instant now) {
    leave_fast_path();
    if (session_.ended.active) return;
    Timers& timers = session_.timers;
    const Instant hello_due = timers.deadline(Timer::hello);
    if (timers.take_expired(Timer::hello, now)) session_.on_hello_timer(now, hello_due, waits());
    // If a packet left in the meantime, it has acknowledged what arrived before it.
    if (timers.take_expired(Timer::held_ack, now)) (void)receiver_.owe_acks();
    if (timers.take_expired(Timer::pace, now)) sender_.refill_pace(now);
    if (timers.take_expired(Timer::leave, now)) session_.leave.unanswered();
    for (const Channel channel : {Channel::request, Channel::reply}) {
        if (session_.ended.active) break;
        const Instant due = timers.deadline(keepalive_timer(channel));
        if (timers.take_expired(keepalive_timer(channel), now)) {
            sender_.on_keepalive_timer(now, due, channel, session_, waits());
        }
    }
    if (session_.ended.active) receiver_.deliveries.drop();
}

// What has ended before, the session too, is drawn first; then what the session leaves.
std::optional<Delivery> Connection::draw_general() {
    prediction_.end();
    receiver_.deliveries.unfold();
    receiver_.free_drawn();
    if (receiver_.deliveries.has_ended()) return receiver_.deliveries.take_ended();
    if (!session_.ended.active) return receiver_.draw(others());
    if (auto left = draw_unfinished(session_.ended, sender_, receiver_)) return left;
    const SessionEnded how = session_.ended.how;
    session_.reset();
    sender_.reset();
    receiver_.reset();
    if (session_.established()) receiver_.deliveries.add(SessionBegan{});
    return how;
}

// Messages and transfers of the caller.

PostStatus Connection::reply(HandlerId handler, ConstBytes arguments) {
    // AM-22, AM-23: one reply to a request or store, and none to a reply.
    Deliveries& deliveries = receiver_.deliveries;
    if (!deliveries.may_reply() || handler == HandlerId{}) return PostStatus::not_allowed;
    if (arguments.size() > config().message_max) return PostStatus::too_long;
    deliveries.end_reply();
    if (prediction_.possible() && sender_.reply_at_once(handler, arguments)) {
        return PostStatus::accepted;
    }
    prediction_.end();
    sender_.reply(handler, arguments);
    return PostStatus::accepted;
}

PostStatus Connection::refuse(HandlerId missing) {
    if (!receiver_.deliveries.may_reply()) return PostStatus::not_allowed;
    receiver_.deliveries.end_reply();
    prediction_.end();
    sender_.refuse(
        {static_cast<std::uint32_t>(Refusal::handler), static_cast<std::uint32_t>(missing),
         static_cast<std::uint32_t>(Reason::no_handler)},
        0);
    return PostStatus::accepted;
}

PostStatus Connection::store(const Store& store) {
    prediction_.end();
    return sender_.store(session_, store);
}

PostStatus Connection::note(const Note& note) {
    if (note.awaited) prediction_.end();
    return sender_.note(session_, note);
}

PostStatus Connection::get(const Get& get) {
    prediction_.end();
    Incoming& arriving = receiver_[Channel::reply];
    const auto id = arriving.free_transfer();
    const PostStatus status = sender_.get(session_, get, id);
    if (status == PostStatus::accepted) {
        ArrivingTransfer& transfer = arriving.begin_transfer(*id);
        transfer.total = get.destination.size();
        transfer.memory = get.destination;
        transfer.tag = get.tag;
    }
    return status;
}

bool Connection::can_read_at_once() const {
    return session_.is_open() && sender_[Channel::request].window.empty() &&
           receiver_[Channel::reply].is_idle();
}

bool Connection::touches(ConstBytes memory) const {
    return sender_.touches(memory) || receiver_.touches(memory);
}

// Sending.

void Connection::acknowledge() {
    if (receiver_.owe_acks()) prediction_.end();
}

void Connection::leave() {
    leave_fast_path();
    if (has_left()) return;
    // A channel that has sent nothing has measured nothing.
    const Duration wait = std::min(sender_[Channel::request].rto(), sender_[Channel::reply].rto());
    session_.leave.begin(wait, config().keepalive_after);
}

bool Connection::has_left() const {
    return !session_.is_open() || session_.leave.ended();
}

bool Connection::poll_transmit(Instant now, TxFrame& out) {
    const Acks acks = receiver_.acks();
    const bool fast = prediction_.possible() && nothing_else_to_say();
    if (fast && sender_.send_fast(now, session_, acks, out)) {
        receiver_.acks_left();
        return true;
    }
    prediction_.end();
    if (session_.ended.active) return false;
    session_.watch(now, waits());
    if (session_.handshake.disowns()) return sender_.send_unknown(session_, out);
    if (session_.hello_is_due()) return sender_.send_hello(now, session_, out);
    if (!session_.established()) return false;
    receiver_.fetch_refused(sender_);
    if (receiver_.send_nack(Channel::reply, others(), out) ||
        receiver_.send_nack(Channel::request, others(), out)) {
        return true;
    }
    const auto question = [&](Channel channel) {
        return sender_.send_question(now, session_, acks, channel, out);
    };
    const auto keepalive = [&](Channel channel) {
        return sender_.send_keepalive(now, session_, acks, channel, out);
    };
    const auto keepalives = [&] {
        return keepalive(Channel::request) || keepalive(Channel::reply);
    };
    const bool sent = question(Channel::request) || question(Channel::reply) ||
                      (session_.asks_first() && keepalives()) ||
                      sender_.send_numbered(now, session_, acks, out) || keepalives() ||
                      sender_.send_leave(now, session_, acks, out);
    if (!sent) return receiver_.send_ack(others(), out);
    receiver_.acks_left();
    return true;
}

void Connection::on_no_room(Instant now) {
    if (session_.ended.active || session_.established()) return;
    session_.watch(now, waits());
    session_.hold_hello(now);
}

bool Connection::quiet() const {
    return session_.is_open() && !session_.leave.due() &&
           sender_[Channel::request].window.at_rest() && sender_[Channel::reply].window.at_rest() &&
           !receiver_.nack_due() && !session_.hello_is_due() && !receiver_.is_stalled() &&
           session_.watches(waits()) && !small_talk_due();
}

bool Connection::would_leave_single() {
    if (sender_[Channel::reply].window.waiting() > 0) return false;
    if (!sender_[Channel::request].window.empty()) return false;
    if (prediction_.holds()) return true;
    const bool alone = can_predict();
    prediction_.begin_if(alone);
    return alone;
}

RunStart Connection::begin_any_run() {
    if (!prediction_.possible() || !nothing_else_to_say()) return RunStart::mixed;
    const RunStart start = sender_.begin_run();
    return start == RunStart::quiet && small_talk_due() ? RunStart::mixed : start;
}

bool Connection::end_run(Instant now) {
    receiver_.acks_left();
    sender_.end_run(now, session_);
    if (!prediction_.holds()) prediction_.begin_if(can_predict());
    return sender_.is_run_at_rest();
}

// State.

bool Connection::holds_back_ack() const {
    if (!config().holds_acks()) return false;
    return (receiver_.owes() && session_.timers.running(Timer::held_ack)) || receiver_.ack_due();
}

bool Connection::idle() const {
    return sender_.idle() && receiver_.idle() && !session_.ended.active && !holds_back_ack();
}

// Only messages, acknowledgements and questions are to leave.
bool Connection::nothing_else_to_say() const {
    return config().layout == Layout::ethernet && session_.is_open() && !session_.hello_is_due() &&
           !session_.leave.due() && !session_.leave.peer_leaves() && !receiver_.is_stalled() &&
           !receiver_.nack_due() && !sender_.wants_answer() && session_.watches(waits()) &&
           !(session_.asks_first() && sender_.asks());
}

// No packet is missing, refused or part of a chunk. Only acknowledgements and messages are to
// leave. The caller has drawn all deliveries, except a message that the fast path accepted.
bool Connection::can_predict() const {
    return nothing_else_to_say() && has_buffers() && sender_.is_steady() &&
           receiver_.nothing_ahead() && receiver_.deliveries.at_most_message();
}

// A connection without buffers keeps its numbers, the acknowledgements that it owes and its pending
// NACKs. The buffers hold only messages that wait or are unacknowledged, and those that have
// arrived in part or ahead of others.
bool Connection::at_rest() const {
    return sender_.at_rest() && receiver_.at_rest() && !session_.ended.active;
}

void Connection::exchange(ConnectionBuffers& buffers) {
    WIREPROOF_CHECK(at_rest());
    prediction_.end();
    sender_.exchange(buffers.send, buffers.replies);
    receiver_.exchange(buffers.receive, buffers.ended);
}

void Connection::fingerprint(Instant now, Fingerprint& sink) const {
    WIREPROOF_CHECK(!prediction_.holds() || can_predict());
    session_.fingerprint(now, sink);
    sender_.fingerprint(now, sink);
    receiver_.fingerprint(sink);
}

}  // namespace wireproof::am
