// Acknowledgements and NACKs that arrive.

#include <algorithm>

#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {
void Sender::on_ack(Instant now, Channel channel, std::uint32_t expected) {
    SendWindow& window = sender(channel).window;
    const std::uint32_t before = window.under_way();
    const bool progress = window.on_ack(
        expected, [&](const SendWindow::Saved& message) { on_acked(channel, message); });
    if (progress) note_freed(now, channel, before - window.under_way());
}

void Sender::on_acked(Channel channel, const SendWindow::Saved& message) {
    BulkSender& bulk = sender(channel).bulk;
    if (message.kind == Kind::chunk) {
        if (!bulk.on_chunk_acked(message.owner, message.size)) return;
        const auto& transfer = bulk.transfers()[message.owner];
        // AM-25, AM-26: all bytes have arrived, and the caller may overwrite the source.
        if (channel == Channel::request) ended_.push(StoreEnded{transfer.tag, transfer.reason});
        bulk.end(message.owner);
    } else if (message.kind == Kind::open && message.in_place) {
        ended_.push(StoreEnded{message.offset, static_cast<Reason>(message.owner)});
    } else if (message.kind == Kind::reply && message.owner == note_owner) {
        note_refusal_ = NoteRefusal::acked;
    } else if (message.kind == Kind::reply && message.owner != 0) {
        receiver(Channel::request).incoming[message.owner - 1].refusal_unacked = false;
    }
}

void Sender::on_nack(Instant now, const Packet& packet) {
    const Header& header = packet.header;
    SendWindow& window = sender(header.channel).window;
    const std::uint32_t before = window.under_way();
    const bool valid = window.on_ack(header.number, [&](const SendWindow::Saved& message) {
        on_acked(header.channel, message);
    });
    if (!valid) return;
    stats_.marked_at_peer += sender(header.channel).take_marks(header.count >> nack_marks_shift);
    const std::uint32_t freed = before - window.under_way();
    sender(header.channel).rtt.freed(now, freed);
    refill(header.channel);
    SendWindow::Missing missing;
    missing.round = header.round;
    if (const auto* const body = std::get_if<NackBody>(&packet.body)) {
        missing.end = body->end;
        missing.reach = body->reach;
        missing.map = packet.payload;
    }
    const bool lost = resend_missing(now, header, missing, freed > 0);
    if (ending_.active) return;
    const bool overrun = lost && (header.count & nack_overrun) != 0;
    sender(header.channel).on_answer(now, missing.end, overrun ? before : 0);
    if (lost) {
        ++stats_.nacks_acted_on;
        stats_.overruns += overrun ? 1 : 0;
        sender(header.channel).rtt.resent();
        timers_.set(keepalive_timer(header.channel), now + sender(header.channel).rto());
    }
    const ResendBackoff& backoff = sender(header.channel).backoff;
    if (!backoff.holds_back(now)) return;
    // The sender need not ask before the packet may leave again.
    Duration& interval = sender(header.channel).keepalive_interval;
    interval = std::max(interval, backoff.wait());
    if (!lost) timers_.set(keepalive_timer(header.channel), backoff.next());
}

// Resends the packets that the peer misses. If the same packet is missing each time, the sender
// waits longer before each resend and finally ends the session here. True: a packet leaves again.
bool Sender::resend_missing(Instant now, const Header& header, const SendWindow::Missing& missing,
                            bool progress) {
    SendWindow& window = sender(header.channel).window;
    ResendBackoff& backoff = sender(header.channel).backoff;
    if ((header.count & nack_refuses) != 0) {
        // It arrived, so the path carries it. The peer refused it and fetches it later (AM-42).
        (void)window.note_arrived(missing);
        backoff.forget();
        window.in_flight().hold_new(false);
        return false;
    }
    if (!backoff.on()) return window.on_nack(missing);
    const bool arrived = window.note_arrived(missing);
    sender(header.channel).follow_missing();
    const std::uint64_t first = window.first_missing();
    // If the peer has some of the packets, the path lost only single packets.
    const bool some = arrived || (backoff.times() == 0 && (progress || !missing.map.empty()));
    const bool held = backoff.holds_back(now);
    if (held && config_.recovery == Recovery::go_back_n) return false;
    const bool waits = window.is_lost(first);
    const std::uint32_t others = held ? 0 : backoff.most();
    const bool lost = window.note_lost(
        missing, {.most = some ? ResendBackoff::all : others, .without_first = held});
    if (waits || !window.is_lost(first)) return lost;
    backoff.resends(now);
    // Packets after this one could not be delivered before it. A path that carries no packet of
    // this length would lose them, too.
    const bool none = !some && sender(header.channel).tries_long();
    window.in_flight().hold_new(none || backoff.wait() > Duration());
    if (!backoff.lasts()) return lost;
    give_up({.why = SessionEnded::Why::unanswered,
             .packet_bytes = backoff.bytes(),
             .packet_times = backoff.times() - 1});
    return false;
}

// AM-24: replies have a window of their own. There is new room, or a new message needs room. A
// chunk that waited goes before replies that came later.
void Sender::refill_waiting(Channel channel) {
    SendWindow& window = sender(channel).window;
    BulkSender& bulk = sender(channel).bulk;
    if (channel == Channel::reply) {
        if (bulk.waits()) bulk.admit(window);
        while (!bulk.waits() && !replies_.empty()) {
            const auto& reply = replies_.front();
            const ConstBytes arguments = replies_.arguments(reply);
            if (!window.push(Kind::reply, reply.id, arguments, reply.owner)) break;
            replies_.pop();
        }
    }
    bulk.admit(window);
}

}  // namespace wireproof::am
