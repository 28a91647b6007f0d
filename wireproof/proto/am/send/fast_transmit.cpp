// Fast path for sending: bundles, OPENs, long messages and runs of them.
#include "wireproof/proto/am/send/fast_transmit.hpp"

#include <cstring>

#include "wireproof/base/crc.hpp"

namespace wireproof::am {

bool Sender::send_fast(Instant now, Session& session, const Acks& acks, TxFrame& out) {
    Channel channel = turn_;
    const SendWindow::Saved* message = (*this)[channel].window.next_fast();
    if (message == nullptr) {
        if (!(*this)[channel].window.at_rest()) return false;
        channel = opposite(channel);
        message = (*this)[channel].window.next_fast();
        if (message == nullptr) return false;
    }
    fill_fast(session, acks, channel, *message, out);
    note_departure(now, session, channel, false);
    return true;
}

RunStart Sender::begin_run() {
    const bool requests = (*this)[Channel::request].window.may_leave();
    const bool replies = (*this)[Channel::reply].window.may_leave();
    if (requests && replies) return RunStart::mixed;
    if (!requests && !replies) return RunStart::quiet;
    run_ = requests ? Channel::request : Channel::reply;
    return in_run() ? RunStart::begun : RunStart::mixed;
}

/// A packet of a chunk, a bundle, an OPEN, or a long message.
[[gnu::noinline]] void Sender::fill_other(Session& session, const Acks& acks, Channel channel,
                                          const SendWindow::Saved& message, TxFrame& out) {
    if (message.kind == Kind::chunk) return fill_chunk_packet(session, acks, channel, message, out);
    fill_more(session, acks, channel, message, out);
}

[[gnu::noinline]] void sign_short(const Config& config, Bytes frame, Kind kind) {
    const auto head = frame.first<HeaderWords::size>();
    Crc32c crc;
    crc.add(covers_data(kind, config.trusts_payload) ? frame : head);
    store_checksum(config.layout, head, crc.value());
}

void Sender::fill_more(Session& session, const Acks& acks, Channel channel,
                       const SendWindow::Saved& message, TxFrame& out) {
    const Outgoing& from = (*this)[channel];
    const SendWindow::Bundle bundle = from.window.fast_bundle();
    const bool single = bundle.messages == 1;
    const ConstBytes data = single ? from.window.data_of_next(message) : bundle.entries;
    HeaderWords header = fast_header(session, acks, channel);
    header.flow = single ? from.flows.single : from.flows.bundle;
    header.count = single ? message.count : static_cast<std::uint16_t>(bundle.messages);
    header.id = single ? message.id : 0;
    if (message.kind == Kind::open) {
        header.flow = from.flows.open | (message.in_place ? HeaderWords::in_place : 0);
        const SendWindow::Departure open{.message = &message, .data = data};
        if (!message.in_place) header.filler = filler_of(session, out, channel, open);
    }
    const Kind kind = single ? message.kind : Kind::bundle;
    add_fast(session.config(), header, data, kind, out);
    out.add_filler(header.filler);
    note_left(session, channel, kind, 1, bundle.messages);
}

/// Writes the whole frame. encode() leaves zeroes in the checksum field, and the checksum is
/// computed with them.
void Sender::add_fast(const Config& config, const HeaderWords& header, ConstBytes data, Kind kind,
                      TxFrame& out) {
    constexpr std::size_t size = HeaderWords::size;
    if (data.size() <= copied_max) {
        const Bytes room = out.add_room(size + data.size());
        header.encode(room.first<size>());
        copy_short(room.data() + size, data.data(), data.size());
        if (out.wants_check()) sign_short(config, room, kind);
        return;
    }
    const bool copied = out.copies(data.size());
    const Bytes room = out.add_room(copied ? size + data.size() : size);
    const auto head = room.first<size>();
    header.encode(head);
    Crc32c crc;
    const bool checked = out.wants_check();
    const bool covered = checked && covers_data(kind, config.trusts_payload);
    if (checked) crc.add(head);
    if (copied) {
        std::byte* const to = room.data() + size;
        if (covered) {
            crc.add_copying(data, to);
        } else {
            std::memcpy(to, data.data(), data.size());
        }
    } else {
        if (covered) crc.add(data);
        out.add_payload(data);
    }
    if (checked) store_checksum(config.layout, head, crc.value());
}

}  // namespace wireproof::am
