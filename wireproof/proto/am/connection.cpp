#include "wireproof/proto/am/connection.hpp"

#include <algorithm>
#include <utility>

namespace wireproof::am {
Connection::Connection(const Config& config, const MemoryTable& memory)
    : Connection(config, memory, ConnectionBuffers(config)) {}

Connection::Connection(const Config& config, const MemoryTable& memory, ConnectionBuffers buffers)
    : Receiver(config, memory, std::move(buffers)) {}

[[gnu::noinline]] RxVerdict Connection::on_other(Instant now, Arrival arrival) {
    leave_fast_path();
    if (arrival.after_overrun) overrun_ = true;
    const bool chunk = accept_chunk_packet(now, arrival);
    return note_verdict(now, chunk ? RxVerdict::accepted : judge(now, arrival));
}

RxVerdict Connection::judge(Instant now, const Arrival& arrival) {
    if (ending_.active) return RxVerdict::refused;
    if (arrival.integrity == Integrity::damaged) return RxVerdict::corrupt;
    const std::size_t size = arrival.bytes.size();
    if (size < config_.header_size() || size > config_.packet_max) return RxVerdict::malformed;
    if (arrival.integrity == Integrity::check &&
        !checksum_holds(config_.layout, arrival.head, arrival.bytes, config_.trusts_payload)) {
        return RxVerdict::corrupt;
    }
    const auto header = header_of(arrival.head);
    if (!header) return RxVerdict::malformed;
    if (header->dst != config_.node || header->src != config_.peer) return RxVerdict::foreign;
    const ConstBytes behind = arrival.bytes.subspan(config_.header_size());
    if (header->filler > behind.size()) return RxVerdict::malformed;
    const Packet packet = Packet::of(*header, behind.first(behind.size() - header->filler));
    if (header->kind == Kind::hello) return on_hello(now, packet);
    if (header->kind == Kind::unknown) return on_unknown(packet);

    const bool had_session = handshake_.established();
    if (!had_session || header->cookie != handshake_.cookie()) {
        if (!handshake_.completes(header->cookie)) {
            handshake_.on_unknown_session(now, header->cookie);  // AM-49
            return RxVerdict::foreign;
        }
        begin_session(now, had_session);
        if (ending_.active) return RxVerdict::refused;  // the old session is reported first
    }
    commit(now, header->ack);
    if (arrival.marked) note_marked(*header);
    switch (header->kind) {
        case Kind::ack: return RxVerdict::control;
        case Kind::nack:
            if (header->id == nack_to_leaver) leave_.answered();
            on_nack(now, packet);
            return RxVerdict::control;
        case Kind::keepalive: on_keepalive(*header); return RxVerdict::control;
        default: break;
    }
    const RxVerdict verdict = on_numbered(packet);
    if (verdict == RxVerdict::accepted) leave_.peer_stays();
    return verdict;
}

void Connection::on_wire_event(Instant, WireEvent event) {
    leave_fast_path();
    if (ending_.active || !handshake_.established()) return;
    give_up(event == WireEvent::peer_gone ? SessionEnded::Why::gone : SessionEnded::Why::restarted);
}

void Connection::on_deadline(Instant now) {
    leave_fast_path();
    if (ending_.active) return;
    const Instant hello_due = timers_.deadline(Timer::hello);
    if (timers_.take_expired(Timer::hello, now)) on_hello_timer(now, hello_due);
    if (timers_.take_expired(Timer::held_ack, now)) release_held_acks();
    if (timers_.take_expired(Timer::pace, now)) {
        for (SendChannel& channel : send_) channel.refill(now);
    }
    if (timers_.take_expired(Timer::leave, now)) leave_.unanswered();
    for (const Channel channel : {Channel::request, Channel::reply}) {
        if (ending_.active) return;
        const Instant due = timers_.deadline(keepalive_timer(channel));
        if (timers_.take_expired(keepalive_timer(channel), now)) {
            on_keepalive_timer(now, due, channel);
        }
    }
}

bool Connection::poll_transmit(Instant now, TxFrame& out) {
    if (send_fast(now, out)) return true;
    predicting_ = false;
    if (ending_.active) return false;
    watch_peer(now);
    if (handshake_.disowns()) return send_unknown(out);
    if (handshake_.answer_due() || hello_due_) return send_hello(now, out);
    if (!handshake_.established()) return false;
    fetch_refused();
    if (send_nack(Channel::reply, out) || send_nack(Channel::request, out)) return true;
    if (send_question(now, Channel::request, out) || send_question(now, Channel::reply, out)) {
        return true;
    }
    if (question_goes_first() &&
        (send_keepalive(now, Channel::request, out) || send_keepalive(now, Channel::reply, out))) {
        return true;
    }
    const Channel first = turn_;
    const Channel second = other(first);
    return send_numbered(now, first, out) || send_numbered(now, second, out) ||
           send_keepalive(now, Channel::request, out) || send_keepalive(now, Channel::reply, out) ||
           send_leave(now, out) || send_ack(out);
}

void Connection::on_no_room(Instant now) {
    if (ending_.active || handshake_.established()) return;
    watch_peer(now);
    if (hello_due_) set_hello_timer(now);
}

void Connection::acknowledge() {
    for (ReceiveChannel& channel : receive_) {
        if (channel.window.owed() == 0) continue;
        channel.window.owe_ack();
        predicting_ = false;
    }
}

void Connection::leave() {
    leave_fast_path();
    if (has_left()) return;
    // A channel that has sent nothing has measured nothing.
    const Duration wait = std::min(send_[0].rto(), send_[1].rto());
    leave_.begin(wait, config_.keepalive_after);
}

bool Connection::has_left() const {
    return !handshake_.established() || ending_.active || leave_.ended();
}

bool Connection::quiet() const {
    return handshake_.established() && !ending_.active && !leave_.due() &&
           send_[0].window.at_rest() && send_[1].window.at_rest() &&
           !receive_[0].window.nack_due() && !receive_[1].window.nack_due() && !hello_due_ &&
           !handshake_.answer_due() && stall_.need == Need::nothing && watches_as_it_should() &&
           !small_talk_due();
}

bool Connection::would_leave_single() {
    if (send_[1].window.waiting() > 0 || !send_[0].window.empty()) return false;
    if (predicting_) return true;
    const bool alone = can_predict();
    predicting_ = alone && fast_;
    return alone;
}

bool Connection::can_read_at_once() const {
    return handshake_.established() && !ending_.active && send_[0].window.empty() &&
           receiver(Channel::reply).arriving() == 0;
}

bool Connection::touches(ConstBytes memory) const {
    const auto overlaps = [memory](ConstBytes other) {
        return !memory.empty() && !other.empty() && memory.data() < other.data() + other.size() &&
               other.data() < memory.data() + memory.size();
    };
    for (const SendChannel& channel : send_) {
        for (const auto& transfer : channel.bulk.transfers()) {
            if (transfer.active && overlaps(transfer.bytes)) return true;
        }
    }
    for (const ReceiveChannel& channel : receive_) {
        for (const Incoming& incoming : channel.incoming) {
            if (incoming.active && overlaps(incoming.all())) return true;
        }
    }
    return false;
}

bool Connection::idle() const {
    const auto active = [](const auto& transfer) { return transfer.active; };
    for (std::size_t i = 0; i < channel_count; ++i) {
        if (!send_[i].window.empty()) return false;
        if (std::any_of(receive_[i].incoming.begin(), receive_[i].incoming.end(), active))
            return false;
        const auto& transfers = send_[i].bulk.transfers();
        if (std::any_of(transfers.begin(), transfers.end(), active)) return false;
    }
    return replies_.empty() && !ending_.active && !holds_back_ack();
}

// A connection without buffers keeps its numbers, the acknowledgements that it owes and its pending
// NACKs. The buffers hold only messages that wait or are unacknowledged, and those that have
// arrived in part or ahead of others.
bool Connection::at_rest() const {
    for (std::size_t i = 0; i < channel_count; ++i) {
        if (!send_[i].at_rest() || !receive_[i].at_rest()) return false;
    }
    return replies_.empty() && ended_.empty() && !delivery_ && !short_here_ && !drawn_slot_ &&
           bundle_.messages.left() == 0 && stall_.need == Need::nothing && !ending_.active;
}

void Connection::exchange(ConnectionBuffers& buffers) {
    WIREPROOF_CHECK(at_rest());
    predicting_ = may_reply_ = false;
    for (std::size_t i = 0; i < channel_count; ++i) {
        send_[i].exchange(buffers.send[i]);
        receive_[i].exchange(buffers.receive[i]);
    }
    std::swap(replies_, buffers.replies);
    std::swap(ended_, buffers.ended);
}

}  // namespace wireproof::am
