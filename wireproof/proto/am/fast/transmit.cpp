// Fast path for sending: bundles, OPENs, long messages and runs of them.

#include <cstring>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/am/send/sender.hpp"

namespace wireproof::am {
bool Sender::send_fast(Instant now, TxFrame& out) {
    if (!fast_ || !nothing_else_to_say()) return false;
    Channel channel = turn_;
    const SendWindow::Saved* message = sender(channel).window.next_fast();
    if (message == nullptr) {
        if (!sender(channel).window.at_rest()) return false;
        channel = other(channel);
        message = sender(channel).window.next_fast();
        if (message == nullptr) return false;
    }
    fill_fast(channel, *message, out);
    note_departure(now, channel);
    return true;
}

// The channels take turns. So a run sends only one channel, while the other has nothing to send.
RunStart Sender::begin_any_run() {
    if (!fast_ || !nothing_else_to_say()) return RunStart::mixed;
    const bool requests = sender(Channel::request).window.may_leave();
    const bool replies = sender(Channel::reply).window.may_leave();
    if (requests && replies) return RunStart::mixed;
    if (!requests && !replies) return small_talk_due() ? RunStart::mixed : RunStart::quiet;
    run_ = requests ? Channel::request : Channel::reply;
    return in_run() ? RunStart::begun : RunStart::mixed;
}

bool Sender::end_run(Instant now) {
    next_of_run_ = nullptr;
    note_departure(now, run_);
    if (!predicting_) predicting_ = can_predict();
    return sender(run_).window.at_rest() && !send_[0].keepalive_due && !send_[1].keepalive_due;
}

/// A packet of a chunk, a bundle, an OPEN, or a long message.
[[gnu::noinline]] void Sender::fill_other(Channel channel, const SendWindow::Saved& message,
                                          TxFrame& out) {
    if (message.kind == Kind::chunk) return fill_chunk_packet(channel, message, out);
    fill_more(channel, message, out);
}

/// Puts the checksum of the header, or of the whole frame, into `frame`, which has zeroes in its
/// place.
[[gnu::noinline]] void Sender::sign_short(Bytes frame, Kind kind) const {
    const auto head = frame.first<HeaderWords::size>();
    Crc32c crc;
    crc.add(covers_data(kind, config_.trusts_payload) ? frame : head);
    store_checksum(config_.layout, head, crc.value());
}

void Sender::fill_more(Channel channel, const SendWindow::Saved& message, TxFrame& out) {
    SendWindow& window = sender(channel).window;
    const SendWindow::Bundle bundle = window.fast_bundle();
    const bool single = bundle.messages == 1;
    const ConstBytes data = single ? window.data_of_next(message) : bundle.entries;
    HeaderWords header = fast_header(channel);
    header.flow = single ? sender(channel).flows.single : sender(channel).flows.bundle;
    header.count = single ? message.count : static_cast<std::uint16_t>(bundle.messages);
    header.id = single ? message.id : 0;
    if (message.kind == Kind::open) head_open(message, data, out, header);
    const Kind kind = single ? message.kind : Kind::bundle;
    add_fast(out, header, data, kind);
    out.add_filler(header.filler);
    note_left(channel, kind, 1, bundle.messages);
}

void Sender::head_open(const SendWindow::Saved& open, ConstBytes data, const TxFrame& out,
                       HeaderWords& header) {
    header.flow = send_[0].flows.open | (open.in_place ? HeaderWords::in_place : 0);
    if (open.in_place) return;
    header.filler = filler_of(out, Channel::request, {.message = &open, .data = data});
}

/// Writes the whole frame. encode() leaves zeroes in the checksum field, and the checksum is
/// computed with them.
void Sender::add_fast(TxFrame& out, const HeaderWords& header, ConstBytes data, Kind kind) const {
    constexpr std::size_t size = HeaderWords::size;
    if (data.size() <= copied_max) {
        const Bytes room = out.add_room(size + data.size());
        header.encode(room.first<size>());
        copy_short(room.data() + size, data.data(), data.size());
        if (out.wants_check()) sign_short(room, kind);
        return;
    }
    const bool copied = out.copies(data.size());
    const Bytes room = out.add_room(copied ? size + data.size() : size);
    const auto head = room.first<size>();
    header.encode(head);
    Crc32c crc;
    const bool checked = out.wants_check();
    const bool covered = checked && covers_data(kind, config_.trusts_payload);
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
    if (checked) store_checksum(config_.layout, head, crc.value());
}

}  // namespace wireproof::am
