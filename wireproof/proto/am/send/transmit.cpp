// The general path for packets that leave.

#include <algorithm>
#include <utility>

#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {
void Sender::emit(TxFrame& out, Header& header, ConstBytes data) {
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

/// A numbered packet of the channel has left, or the last of several. Changes what emit() or
/// note_left() does not change for each.
void Sender::note_departure(Instant now, Channel channel, bool again) {
    liveness_.wait(now);
    SendChannel& from = sender(channel);
    if (!again) from.rtt.sent_in_burst(now, from.window.under_way());
    timers_.set(keepalive_timer(channel), liveness_.next_check(now, from.keepalive_interval));
    const Instant refill = from.next_refill(now);
    if (refill != never) timers_.set(Timer::pace, earliest(refill, timers_.deadline(Timer::pace)));
    if (turn_ == channel) turn_ = other(channel);
}

/// Filler that makes the OPEN or the last packet of a transfer as long as the packets before and
/// after it, if the lane prefers equal sizes. 0 if no packet waits after it, if the transfer is
/// short, or if other flows share the path.
std::uint16_t Sender::filler_of(const TxFrame& out, Channel channel,
                                const SendWindow::Departure& packet) {
    const SendWindow& window = sender(channel).window;
    const std::size_t size = packet.data.size();
    const bool shared = window.in_flight().counted() && !window.in_flight().seldom();
    const bool may_fill = wide_ && out.prefers_equal_sizes() && !shared && window.waiting() > 1 &&
                          packet.messages == 1 && size < config_.data_max();
    if (!may_fill || bytes_besides(channel, packet) < config_.data_max() / 2) return 0;
    ++stats_.filled;
    return static_cast<std::uint16_t>(config_.data_max() - size);
}

/// About how many bytes a transfer has besides its OPEN or its last packet; 0 if it is no transfer.
std::uint64_t Sender::bytes_besides(Channel channel, const SendWindow::Departure& packet) const {
    const SendWindow::Saved& message = *packet.message;
    if (message.kind == Kind::chunk) {
        return packet.offset + (channel == Channel::request ? config_.open_bytes : 0);
    }
    if (message.kind != Kind::open || message.in_place) return 0;
    return OpenBody::decode(packet.data.first<OpenBody::size>()).total;
}

bool Sender::send_numbered(Instant now, Channel channel, TxFrame& out) {
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

// A question leaves before packets that wait, so that its answers are spread over the round trip.
bool Sender::send_question(Instant now, Channel channel, TxFrame& out) {
    if (!sender(channel).window.in_flight().wants_answer()) return false;
    sender(channel).keepalive_due = true;
    return send_keepalive(now, channel, out);
}

bool Sender::send_keepalive(Instant now, Channel channel, TxFrame& out) {
    if (!sender(channel).keepalive_due) return false;
    sender(channel).keepalive_due = false;
    sender(channel).window.asked(now);
    emit_keepalive(channel, 0, out);
    return true;
}

bool Sender::send_leave(Instant now, TxFrame& out) {
    if (!leave_.due()) return false;
    timers_.set(Timer::leave, now + leave_.asked());
    emit_keepalive(Channel::request, keepalive_leaves, out);
    return true;
}

void Sender::emit_keepalive(Channel channel, std::uint16_t count, TxFrame& out) {
    Header header;
    header.kind = Kind::keepalive;
    header.count = count;
    header.number = sender(channel).window.behind_latest();
    header.channel = channel;
    header.round = sender(channel).window.round();
    emit(out, header, {});
}

void Sender::set_hello_timer(Instant now) {
    if (timers_.running(Timer::hello)) return;
    timers_.set(Timer::hello, liveness_.next_check(now, hello_interval_));
}

bool Sender::send_hello(Instant now, TxFrame& out) {
    const Handshake::Hello hello = handshake_.take_hello();
    hello_due_ = false;
    if (!handshake_.established()) set_hello_timer(now);
    std::array<std::byte, HelloBody::size> body{};
    hello.body.encode(body);
    Header header;
    header.kind = Kind::hello;
    header.count = hello.wants_answer ? 1 : 0;
    emit(out, header, body);
    return true;
}

// An UNKNOWN is not longer than other frames, so a stranger cannot make this node send more than it
// receives.
bool Sender::send_unknown(TxFrame& out) {
    const Handshake::Disowned session = handshake_.take_disowned();
    Header header;
    header.kind = Kind::unknown;
    header.cookie = session.cookie;
    header.offset = session.proof;
    if (session.how.why == SessionEnded::Why::silent) header.count = unknown_silent;
    if (session.how.why == SessionEnded::Why::unanswered) {
        header.count = unknown_unanswered;
        header.id = static_cast<std::uint32_t>(session.how.packet_bytes);
        header.number = std::min(session.how.packet_times, 0xFFFFU);  // the sp2 layout has 16 bits
    }
    emit(out, header, {});
    return true;
}

}  // namespace wireproof::am
