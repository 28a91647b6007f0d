// The sending half of Connection: what leaves next, and the timers that make something leave.
#include <algorithm>
#include <utility>

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {
namespace {

// Bytes of a NACK's map: windows beyond 8192 packets are told of in parts.
constexpr std::size_t map_max = 1024;

}  // namespace

bool Connection::poll_transmit(Instant now, TxFrame& out) {
    if (send_plain(now, out)) return true;
    calm_ = false;
    if (ending_.active) return false;
    watch_peer(now);
    if (handshake_.disowns()) return send_unknown(out);
    if (handshake_.answer_due() || hello_due_) return send_hello(now, out);
    if (!handshake_.established()) return false;
    if (refused_need_ != Need::nothing && met(refused_need_)) {
        refused_need_ = Need::nothing;
        receiver(Channel::request)
            .window.complain(refused_round_, refused_place_ + 1, true);  // AM-42
    }
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
           send_ack(out);
}

void Connection::emit(TxFrame& out, Header& header, ConstBytes data) {
    header.dst = config_.peer;
    header.src = config_.node;
    if (header.kind == Kind::hello || header.kind == Kind::unknown) {
        header.route = route_;
    } else {
        stamp(header);
        note_acks_left();
    }
    const std::size_t header_size = config_.header_size();
    const bool copied =
        data.size() <= copied_max || header.kind == Kind::nack || out.copies(data.size());
    const Bytes room = out.add_room(header_size + (copied ? data.size() : 0));
    const Bytes head = room.first(header_size);
    encode(header, config_.layout, head);
    if (copied) {
        std::copy(data.begin(), data.end(),
                  room.begin() + static_cast<std::ptrdiff_t>(header_size));
    } else {
        out.add_payload(data);
    }
    if (out.wants_check()) {
        const ConstBytes with = covered(data, header.kind, config_.trusts_payload);
        store_checksum(config_.layout, head, checksum(config_.layout, head, with));
    }
    out.add_filler(header.filler);
    ++stats_.sent[static_cast<std::size_t>(header.kind)];
}

bool Connection::send_hello(Instant now, TxFrame& out) {
    const Handshake::Hello hello = handshake_.take_hello();
    hello_due_ = false;
    if (!handshake_.established() && !timers_.running(Timer::hello)) {
        timers_.set(Timer::hello, liveness_.next_check(now, hello_interval_));
    }
    std::array<std::byte, HelloBody::size> body{};
    hello.body.encode(body);
    Header header;
    header.kind = Kind::hello;
    header.count = hello.wants_answer ? 1 : 0;
    emit(out, header, body);
    return true;
}

// No longer than any frame, so that nobody can have us send more than was sent to us.
bool Connection::send_unknown(TxFrame& out) {
    const Handshake::Disowned session = handshake_.take_disowned();
    Header header;
    header.kind = Kind::unknown;
    header.cookie = session.cookie;
    header.offset = session.proof;
    if (session.how.why == SessionEnded::Why::silent) header.count = unknown_silent;
    if (session.how.why == SessionEnded::Why::unanswered) {
        header.count = unknown_unanswered;
        header.id = static_cast<std::uint32_t>(session.how.packet_bytes);
        header.number = std::min(session.how.packet_times, 0xFFFFU);  // of the narrow layout
    }
    emit(out, header, {});
    return true;
}

bool Connection::send_nack(Channel channel, TxFrame& out) {
    ReceiveWindow& window = receiver(channel).window;
    if (!window.complains()) return false;
    const auto& complaint = window.complaint();
    if (!complaint) return false;
    Header header;
    header.kind = Kind::nack;
    header.channel = channel;
    header.round = complaint->round;
    header.number = window.expected();
    std::array<std::byte, NackBody::size + map_max> data;
    std::size_t size = 0;
    if (config_.recovery == Recovery::selective) {
        const std::size_t room = std::min(data.size(), config_.data_max()) - NackBody::size;
        const std::size_t map_size = std::min(window.map_bytes(), room);
        // A map that was cut short says nothing of what lies behind it.
        const bool whole = map_size == window.map_bytes();
        const std::uint32_t reach =
            whole ? window.window() : static_cast<std::uint32_t>(map_size * 8);
        NackBody{window.complaint_end(), reach}.encode(Bytes(data).first<NackBody::size>());
        window.write_map(Bytes(data).subspan(NackBody::size, map_size));
        size = NackBody::size + map_size;
        header.count = std::exchange(overrun_, false) ? nack_overrun : 0;
    }
    const bool refused = (channel == Channel::request && refuses()) || window.puts_off();
    if (refused) header.count |= nack_refuses;
    window.complained();
    emit(out, header, ConstBytes(data).first(size));
    return true;
}

/// A numbered packet of the channel has left, or the last of many: what that changes besides what
/// emit() or note_left() has changed for each.
void Connection::note_departure(Instant now, Channel channel, bool again) {
    liveness_.wait(now);
    SendChannel& from = sender(channel);
    if (!again) from.loop.sent_in_burst(now, from.window.under_way());
    timers_.set(keepalive_timer(channel), liveness_.next_check(now, from.keepalive_interval));
    if (turn_ == channel) turn_ = other(channel);
}

bool Connection::send_numbered(Instant now, Channel channel, TxFrame& out) {
    SendWindow& window = sender(channel).window;
    const auto departure = window.next_departure();
    if (!departure) return false;
    Header header;
    const bool single = departure->messages == 1;
    header.kind = single ? departure->message->kind : Kind::bundle;
    header.in_place = departure->message->in_place;
    header.channel = channel;
    header.round = window.round();
    header.count =
        single ? departure->message->count : static_cast<std::uint16_t>(departure->messages);
    header.number = departure->number;
    header.id = single ? departure->message->id : 0;
    header.offset = departure->offset;
    const bool again = departure->resent;
    if (again) {
        out.mark_resent();
        ++stats_.resent;
    } else {
        header.filler = filler_of(out, channel, *departure);
    }
    emit(out, header, departure->data);
    if (again && window.left_first_missing()) sender(channel).backoff.left(out.size());
    window.departed();
    note_departure(now, channel, again);
    return true;
}

// Before what waits to leave, so that answers come spread over the round trip.
bool Connection::send_question(Instant now, Channel channel, TxFrame& out) {
    if (!sender(channel).window.afoot().wants_answer()) return false;
    sender(channel).keepalive_due = true;
    return send_keepalive(now, channel, out);
}

bool Connection::send_keepalive(Instant now, Channel channel, TxFrame& out) {
    if (!sender(channel).keepalive_due) return false;
    sender(channel).keepalive_due = false;
    sender(channel).window.asked(now);
    Header header;
    header.kind = Kind::keepalive;
    header.number = sender(channel).window.behind_latest();
    header.channel = channel;
    header.round = sender(channel).window.round();
    emit(out, header, {});
    return true;
}

bool Connection::send_ack(TxFrame& out) {
    if (!receive_[0].window.ack_due() && !receive_[1].window.ack_due()) return false;
    Header header;
    emit(out, header, {});
    return true;
}

// Timers.

void Connection::watch_peer(Instant now) {
    if (!waits_for_peer()) return liveness_.stop_waiting();
    liveness_.wait(now);
    if (!handshake_.established()) {
        if (handshake_.can_meet() && !timers_.running(Timer::hello)) hello_due_ = true;
        return;
    }
    if (expects_peer() && send_[0].window.empty() && !timers_.running(Timer::keepalive_request)) {
        watch_idle(now);
    }
}

void Connection::on_deadline(Instant now) {
    calm_ = false;
    bundle_.left = 0;  // of a frame that is gone, where its user stopped drawing
    nothing_to_draw_ = false;
    if (ending_.active) return;
    const Instant hello_due = timers_.deadline(Timer::hello);
    if (timers_.take_expired(Timer::hello, now)) on_hello_timer(now, hello_due);
    if (timers_.take_expired(Timer::held_ack, now)) release_held_acks();
    for (const Channel channel : {Channel::request, Channel::reply}) {
        if (ending_.active) return;
        const Instant due = timers_.deadline(keepalive_timer(channel));
        if (timers_.take_expired(keepalive_timer(channel), now)) {
            on_keepalive_timer(now, due, channel);
        }
    }
}

void Connection::on_hello_timer(Instant now, Instant due) {
    if (handshake_.established() || !waits_for_peer()) return;
    liveness_.note_absence(now, due, hello_interval_);
    liveness_.asks();
    if (liveness_.given_up(now)) {
        give_up(SessionEnded::Why::silent);
        return;
    }
    hello_interval_ = std::min(hello_interval_ * 2, config_.keepalive_max);
    hello_due_ = true;
}

// What left meanwhile has acknowledged what came before it.
void Connection::release_held_acks() {
    for (ReceiveChannel& channel : receive_) {
        if (channel.window.owed() > 0) channel.window.owe_ack();
    }
}

void Connection::on_keepalive_timer(Instant now, Instant due, Channel channel) {
    if (!handshake_.established()) return;
    const SendWindow& window = sender(channel).window;
    const bool awaited = channel == Channel::request && expects_peer();
    if (window.empty()) {
        if (!awaited) return;
        const Instant quiet = liveness_.silent_since() + config_.keepalive_after;
        if (quiet > now) {  // it was heard meanwhile
            watch_interval_ = config_.keepalive_after;
            timers_.set(keepalive_timer(channel), quiet);
            return;
        }
    }
    Duration& interval = window.empty() ? watch_interval_ : sender(channel).keepalive_interval;
    liveness_.note_absence(now, due, interval);
    if (liveness_.given_up(now)) {
        give_up(SessionEnded::Why::silent);
        return;
    }
    if (liveness_.unanswered() > 0) route_ = static_cast<std::uint8_t>((route_ + 1) % 4);  // AM-52
    liveness_.asks();
    ++stats_.keepalive_timeouts;
    sender(channel).loop.resent();  // what answers now was asked for
    sender(channel).heed_silence(now, liveness_.unanswered(), now - liveness_.silent_since());
    // What waits to leave says more than a keep-alive would, unless nothing was heard since the
    // last timer either: a path may lose all packets as long as these.
    sender(channel).keepalive_due = window.at_rest() || asks_first();
    interval = std::min(interval * 2, config_.keepalive_max);
    timers_.set(keepalive_timer(channel), liveness_.next_check(now, interval));
}

}  // namespace wireproof::am
