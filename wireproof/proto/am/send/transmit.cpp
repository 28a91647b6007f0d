// The general path for packets that leave.
#include <algorithm>

#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {
namespace {

/// About how many bytes a transfer has besides its OPEN or its last packet; 0 if it is no transfer.
std::uint64_t bytes_besides(const Config& config, Channel channel,
                            const SendWindow::Departure& packet) {
    const SendWindow::Saved& message = *packet.message;
    if (message.kind == Kind::chunk) {
        return packet.offset + (channel == Channel::request ? config.open_bytes : 0);
    }
    if (message.kind != Kind::open || message.in_place) return 0;
    return OpenBody::decode(packet.data.first<OpenBody::size>()).total;
}

}  // namespace

void Sender::emit(Session& session, const Acks& acks, Header& header, ConstBytes data,
                  TxFrame& out) {
    const Config& config = session.config();
    header.dst = config.peer;
    header.src = config.node;
    header.route = session.route();
    if (header.kind != Kind::hello && header.kind != Kind::unknown) {
        header.cookie = session.handshake.cookie();
        header.ack = acks;
    }
    const std::size_t header_size = config.header_size();
    const bool copied =
        data.size() <= copied_max || header.kind == Kind::nack || out.copies(data.size());
    const Bytes room = out.add_room(header_size + (copied ? data.size() : 0));
    const Bytes head = room.first(header_size);
    encode(header, config.layout, head);
    if (copied) {
        std::copy(data.begin(), data.end(),
                  room.begin() + static_cast<std::ptrdiff_t>(header_size));
    } else {
        out.add_payload(data);
    }
    if (out.wants_check()) {
        const ConstBytes with = covered(data, header.kind, config.trusts_payload);
        store_checksum(config.layout, head, checksum(config.layout, head, with));
    }
    out.add_filler(header.filler);
    ++session.stats.sent[static_cast<std::size_t>(header.kind)];
}

/// A numbered packet of the channel has left, or the last of several. Changes what emit() or
/// note_left() does not change for each.
void Sender::note_departure(Instant now, Session& session, Channel channel, bool again) {
    session.liveness.wait(now);
    Outgoing& from = (*this)[channel];
    if (!again) from.rtt.sent_in_burst(now, from.window.under_way());
    session.timers.set(keepalive_timer(channel),
                       session.liveness.next_check(now, from.keepalive_interval));
    const Instant refill = from.next_refill(now);
    if (refill != never) {
        session.timers.set(Timer::pace, earliest(refill, session.timers.deadline(Timer::pace)));
    }
    if (turn_ == channel) turn_ = opposite(channel);
}

/// Filler that makes the OPEN or the last packet of a transfer as long as the packets before and
/// after it, if the lane prefers equal sizes. 0 if no packet waits after it, if the transfer is
/// short, or if other flows share the path.
std::uint16_t Sender::filler_of(Session& session, const TxFrame& out, Channel channel,
                                const SendWindow::Departure& packet) {
    const Config& config = session.config();
    const SendWindow& window = (*this)[channel].window;
    const std::size_t size = packet.data.size();
    const bool shared = window.in_flight().counted() && !window.in_flight().seldom();
    const bool may_fill = config.layout == Layout::ethernet && out.prefers_equal_sizes() &&
                          !shared && window.waiting() > 1 && packet.messages == 1 &&
                          size < config.data_max();
    if (!may_fill || bytes_besides(config, channel, packet) < config.data_max() / 2) return 0;
    ++session.stats.filled;
    return static_cast<std::uint16_t>(config.data_max() - size);
}

bool Sender::send_numbered(Instant now, Session& session, const Acks& acks, TxFrame& out) {
    const Channel first = turn_;
    return send_numbered(now, session, acks, first, out) ||
           send_numbered(now, session, acks, opposite(first), out);
}

bool Sender::send_numbered(Instant now, Session& session, const Acks& acks, Channel channel,
                           TxFrame& out) {
    Outgoing& from = (*this)[channel];
    SendWindow& window = from.window;
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
        ++session.stats.resent;
    } else {
        header.filler = filler_of(session, out, channel, *departure);
    }
    emit(session, acks, header, departure->data, out);
    if (again && window.left_first_missing()) from.backoff.left(out.size());
    window.departed();
    note_departure(now, session, channel, again);
    return true;
}

// A question leaves before packets that wait, so that its answers are spread over the round trip.
bool Sender::send_question(Instant now, Session& session, const Acks& acks, Channel channel,
                           TxFrame& out) {
    if (!(*this)[channel].window.in_flight().wants_answer()) return false;
    (*this)[channel].keepalive_due = true;
    return send_keepalive(now, session, acks, channel, out);
}

bool Sender::send_keepalive(Instant now, Session& session, const Acks& acks, Channel channel,
                            TxFrame& out) {
    if (!(*this)[channel].keepalive_due) return false;
    (*this)[channel].keepalive_due = false;
    (*this)[channel].window.asked(now);
    emit_keepalive(session, acks, channel, 0, out);
    return true;
}

bool Sender::send_leave(Instant now, Session& session, const Acks& acks, TxFrame& out) {
    if (!session.leave.due()) return false;
    session.timers.set(Timer::leave, now + session.leave.asked());
    emit_keepalive(session, acks, Channel::request, keepalive_leaves, out);
    return true;
}

void Sender::emit_keepalive(Session& session, const Acks& acks, Channel channel,
                            std::uint16_t count, TxFrame& out) {
    Header header;
    header.kind = Kind::keepalive;
    header.count = count;
    header.number = (*this)[channel].window.behind_latest();
    header.channel = channel;
    header.round = (*this)[channel].window.round();
    emit(session, acks, header, {}, out);
}

bool Sender::send_hello(Instant now, Session& session, TxFrame& out) {
    const Handshake::Hello hello = session.take_hello(now);
    std::array<std::byte, HelloBody::size> body{};
    hello.body.encode(body);
    Header header;
    header.kind = Kind::hello;
    header.count = hello.wants_answer ? 1 : 0;
    emit(session, {}, header, body, out);
    return true;
}

// An UNKNOWN is not longer than other frames, so a stranger cannot make this node send more than it
// receives.
bool Sender::send_unknown(Session& session, TxFrame& out) {
    const Handshake::Disowned disowned = session.handshake.take_disowned();
    Header header;
    header.kind = Kind::unknown;
    header.cookie = disowned.cookie;
    header.offset = disowned.proof;
    if (disowned.how.why == SessionEnded::Why::silent) header.count = unknown_silent;
    if (disowned.how.why == SessionEnded::Why::unanswered) {
        header.count = unknown_unanswered;
        header.id = static_cast<std::uint32_t>(disowned.how.packet_bytes);
        header.number = std::min(disowned.how.packet_times, 0xFFFFU);  // sp2 has 16 bits
    }
    emit(session, {}, header, {}, out);
    return true;
}

}  // namespace wireproof::am
