// Acknowledgements and NACKs that arrive.
#include <algorithm>

#include "wireproof/proto/am/receive/fast_receive.hpp"

namespace wireproof::am {

void Receiver::on_ack(Instant now, Channel channel, std::uint32_t expected, const Others& others) {
    SendWindow& window = others.sender[channel].window;
    const std::uint32_t before = window.under_way();
    const bool progress = window.on_ack(expected, [&](const SendWindow::Saved& message) {
        on_acked(channel, message, others.sender);
    });
    if (progress) note_freed(now, channel, before - window.under_way(), others);
}

void Receiver::on_acked(Channel channel, const SendWindow::Saved& message, Sender& sender) {
    BulkSender& bulk = sender[channel].bulk;
    if (message.kind == Kind::chunk) {
        if (!bulk.on_chunk_acked(message.owner, message.size)) return;
        const auto& transfer = bulk.transfers()[message.owner];
        // AM-25, AM-26: all bytes have arrived, and the caller may overwrite the source.
        if (channel == Channel::request) deliveries.add(StoreEnded{transfer.tag, transfer.reason});
        bulk.end(message.owner);
    } else if (message.kind == Kind::open && message.in_place) {
        deliveries.add(StoreEnded{message.offset, static_cast<Reason>(message.owner)});
    } else if (message.kind == Kind::reply && message.owner == note_owner) {
        note_refusal_ = NoteRefusal::acked;
    } else if (message.kind == Kind::reply && message.owner != 0) {
        (*this)[Channel::request].transfers[message.owner - 1].refusal_unacked = false;
    }
}

void Receiver::on_nack(Instant now, const Packet& packet, const Others& others) {
    Session& session = others.session;
    Sender& sender = others.sender;
    const Header& header = packet.header;
    Outgoing& sent = sender[header.channel];
    const std::uint32_t before = sent.window.under_way();
    const bool valid = sent.window.on_ack(header.number, [&](const SendWindow::Saved& message) {
        on_acked(header.channel, message, sender);
    });
    if (!valid) return;
    session.stats.marked_at_peer += sent.take_marks(header.count >> nack_marks_shift);
    const std::uint32_t freed = before - sent.window.under_way();
    sent.rtt.freed(now, freed);
    sender.refill(header.channel);
    SendWindow::Missing missing;
    missing.round = header.round;
    if (const auto* const body = std::get_if<NackBody>(&packet.body)) {
        missing.end = body->end;
        missing.reach = body->reach;
        missing.map = packet.payload;
    }
    const Outgoing::Resend resend = sent.resend_missing(now, header, missing, freed > 0);
    if (resend.gives_up) return session.give_up(*resend.gives_up);
    const bool overrun = resend.any && (header.count & nack_overrun) != 0;
    sent.on_answer(now, missing.end, overrun ? before : 0);
    const Timer keepalive = keepalive_timer(header.channel);
    if (resend.any) {
        ++session.stats.nacks_acted_on;
        session.stats.overruns += overrun ? 1 : 0;
        sent.rtt.resent();
        session.timers.set(keepalive, now + sent.rto());
    }
    if (!sent.backoff.holds_back(now)) return;
    // The sender need not ask before the packet may leave again.
    sent.keepalive_interval = std::max(sent.keepalive_interval, sent.backoff.wait());
    if (!resend.any) session.timers.set(keepalive, sent.backoff.next());
}

}  // namespace wireproof::am
