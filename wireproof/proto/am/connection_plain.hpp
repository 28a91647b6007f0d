// The half of the short way (connection_plain.cpp) that is written out where it is called: what a
// calm connection does for a message by itself. The end of connection.hpp; not to be included
// alone.
#pragma once

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

inline ShortHeader Connection::plain_header(Channel channel) const {
    const SendWindow& window = send_[index(channel)];
    ShortHeader header;
    header.route = route_;
    header.round = window.round();
    header.cookie = handshake_.cookie();
    header.number = window.first_unsent();
    header.ack = {receive_[0].expected(), receive_[1].expected()};
    return header;
}

[[gnu::always_inline]] inline void Connection::fill_plain(Channel channel,
                                                          const SendWindow::Saved& message,
                                                          TxFrame& out) {
    const bool alone = message.kind <= Kind::reply && out_window(channel).lone() &&
                       message.copy.size <= copied_max;
    if (!alone) return fill_other(channel, message, out);
    if (channel == Channel::request) return fill_alone<Channel::request>(message, out);
    fill_alone<Channel::reply>(message, out);
}

/// A short message by itself.
template <Channel channel>
[[gnu::always_inline]] inline void Connection::fill_alone(const SendWindow::Saved& message,
                                                          TxFrame& out) {
    constexpr auto at = static_cast<std::size_t>(channel);
    SendWindow& window = send_[at];
    const ConstBytes data = window.arguments_of(message);
    // Room first: a header that is written at once, and that nobody else sees, stays in registers;
    // in memory it would be written in parts and read in words, which waits for the parts.
    const Bytes room = out.add_all(ShortHeader::size + data.size());
    ShortHeader header = plain_header(channel);
    header.address = address_out_.single[at];
    header.count = message.count;
    header.id = message.id;
    header.encode(room.first<ShortHeader::size>());
    copy_short(room.data() + ShortHeader::size, data.data(), data.size());
    ++stats_.sent[static_cast<std::size_t>(channel == Channel::request ? Kind::request
                                                                       : Kind::reply)];
    window.plain_departed(1);
    if (out.wants_check()) sign_short(room, true);
}

// What most frames are while calm: a message by itself of which all is foreseen but what it says.
// One look at each field, and nothing is changed before all have held. Each channel has its own
// copy of the code, in which every place is known.
[[gnu::always_inline]] inline bool Connection::accept_foreseen(Instant now, const RxFrame& frame) {
    const bool whole = frame.integrity == Integrity::intact && !frame.after_overrun;
    if (!whole || frame.bytes.size() < ShortHeader::size) return false;
    const auto bytes = frame.bytes.first<ShortHeader::size>();
    const std::uint64_t address = ShortHeader::address_in(bytes);
    if (address == address_in_[0]) return accept_foreseen_on<Channel::request>(now, frame.bytes);
    return address == address_in_[1] && accept_foreseen_on<Channel::reply>(now, frame.bytes);
}

template <Channel channel>
[[gnu::always_inline]] inline bool Connection::accept_foreseen_on(Instant now, ConstBytes frame) {
    constexpr auto at = static_cast<std::size_t>(channel);
    const auto bytes = frame.first<ShortHeader::size>();
    const ShortHeader header = ShortHeader::decode(bytes);
    ReceiveWindow& window = receive_[at];
    const std::size_t size = frame.size() - ShortHeader::size;
    const bool foreseen =
        header.cookie == handshake_.cookie() && header.number == window.expected() &&
        header.id - 1 < handler_max && header.count * std::size_t{4} == size &&
        header.count <= config_.words_max && ShortHeader::filler_in(bytes) == 0 &&
        send_[0].nothing_or_all(header.ack[0]) && send_[1].nothing_or_all(header.ack[1]);
    if (!foreseen) return false;
    silent_since_ = now;
    unanswered_ = 0;
    end_foreseen<Channel::request>(now, header.ack[0]);
    end_foreseen<Channel::reply>(now, header.ack[1]);
    window.pass_plain();
    nothing_to_draw_ = false;
    plain_.handler = static_cast<HandlerId>(header.id);
    plain_.is_request = channel == Channel::request;
    plain_.data = frame.data() + ShortHeader::size;
    plain_.size = size;
    plain_here_ = true;
    return true;
}

/// As on_plain_ack of a number that SendWindow::nothing_or_all knows.
template <Channel channel>
[[gnu::always_inline]] inline void Connection::end_foreseen(Instant now, std::uint32_t expected) {
    SendWindow& window = send_[static_cast<std::size_t>(channel)];
    if (expected == window.first_unacknowledged()) return;
    const std::uint32_t freed = window.under_way();
    window.drop_all();
    note_freed(now, channel, freed);
}

}  // namespace wireproof::am
