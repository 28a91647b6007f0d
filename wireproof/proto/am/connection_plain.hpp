// The half of the short way (connection_plain.cpp) that is written out where it is called: what is
// done for each message, or each time one may wait. The end of connection.hpp; not to be included
// alone.
#pragma once

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

/// What every packet of the session says, one that left before, too: AM-41.
template <class AnyHeader>
[[gnu::always_inline]] inline void Connection::stamp(AnyHeader& header) const {
    header.route = route_;
    header.cookie = handshake_.cookie();
    header.ack = {receive_[0].window.expected(), receive_[1].window.expected()};
}

/// What of a numbered packet is known before its message is.
[[gnu::always_inline]] inline ShortHeader Connection::plain_header(Channel channel) const {
    const SendWindow& window = sender(channel).window;
    ShortHeader header;
    stamp(header);
    header.round = window.round();
    header.number = window.first_unsent();
    return header;
}

/// The packet of a short message, the next of its channel.
template <Channel channel>
[[gnu::always_inline]] inline void Connection::write_message(std::uint32_t handler,
                                                             ConstBytes arguments,
                                                             Bytes room) const {
    // A header that is written at once, and that nobody else sees, stays in registers; in memory it
    // would be written in parts and read in words, which waits for the parts.
    ShortHeader header = plain_header(channel);
    header.address = sender(channel).addresses.single;
    header.count = static_cast<std::uint16_t>(arguments.size() / 4);
    header.id = handler;
    header.encode(room.first<ShortHeader::size>());
    copy_words(room.data() + ShortHeader::size, arguments.data(), arguments.size());
}

/// Packets of the short way leave, of so many numbers of the window, as emit() has it of others.
[[gnu::always_inline]] inline void Connection::note_left(Channel channel, Kind kind,
                                                         std::uint32_t packets,
                                                         std::uint32_t numbers) {
    stats_.sent[static_cast<std::size_t>(kind)] += packets;
    note_acks_left();
    sender(channel).window.plain_departed(numbers);
}

inline RxVerdict Connection::note_verdict(Instant now, RxVerdict verdict, std::uint32_t frames) {
    if (holds_acks_ && verdict == RxVerdict::accepted && !timers_.running(Timer::held_ack)) {
        timers_.set(Timer::held_ack, now + config_.ack_after);
    }
    stats_.received[static_cast<std::size_t>(verdict)] += frames;
    return verdict;
}

inline void Connection::refill(Channel channel) {
    const BulkSender& bulk = sender(channel).bulk;
    const bool nothing =
        bulk.active() == 0 && !bulk.waits() && (channel == Channel::request || replies_.empty());
    if (!nothing) refill_waiting(channel);
}

[[gnu::always_inline]] inline void Connection::note_freed(Instant now, Channel channel,
                                                          std::uint32_t packets) {
    const SendWindow& window = sender(channel).window;
    sender(channel).loop.freed(now, packets);
    sender(channel).heed_path(now);
    sender(channel).keepalive_interval = sender(channel).patience();
    sender(channel).keepalive_due = false;
    if (!window.empty()) {
        timers_.set(keepalive_timer(channel), now + sender(channel).patience());
    } else if (channel == Channel::request && expects_peer()) {
        watch_idle(now);
    } else {
        timers_.stop(keepalive_timer(channel));
        if (!waits_for_peer()) liveness_.stop_waiting();
    }
    refill(channel);
}

/// All that is out on the channel was acknowledged, and that is all there is.
[[gnu::always_inline]] inline void Connection::end_all(Instant now, Channel channel) {
    SendWindow& window = sender(channel).window;
    WIREPROOF_CHECK(window.settled());
    const std::uint32_t freed = window.under_way();
    window.drop_all();
    note_freed(now, channel, freed);
}

/// In light traffic all is acknowledged that there is: with the channel known, half of the
/// instructions go.
[[gnu::always_inline]] inline void Connection::apply_ack(Instant now, Channel channel,
                                                         std::uint32_t expected) {
    const SendWindow& window = sender(channel).window;
    if (expected == window.first_unacknowledged()) return;
    if (!window.ends_all(expected)) return on_ack(now, channel, expected);
    end_all(now, channel);
}

/// A packet of the session came whole: its sender lives, and has what its acks say. What else it
/// says is applied by whoever accepts it: a number is passed, a verdict counted.
[[gnu::always_inline]] inline void Connection::commit(Instant now, const Acks& acks) {
    liveness_.heard(now);
    apply_ack(now, Channel::request, acks[0]);
    apply_ack(now, Channel::reply, acks[1]);
}

/// The expected message is a short one: it is passed, and lies there until it is drawn.
template <Channel channel>
[[gnu::always_inline]] inline void Connection::pass_message(std::uint32_t handler,
                                                            ConstBytes arguments) {
    receive_[static_cast<std::size_t>(channel)].window.pass_plain();
    if (channel == Channel::request) refused_need_ = Need::nothing;
    plain_.handler = static_cast<HandlerId>(handler);
    plain_.is_request = channel == Channel::request;
    plain_.data = arguments.data();
    plain_.size = arguments.size();
    plain_here_ = true;
}

/// Of the session, and of the number expected.
[[gnu::always_inline]] inline bool Connection::is_next(const ShortHeader& header,
                                                       const ReceiveWindow& window) const {
    return header.cookie == handshake_.cookie() && header.number == window.expected();
}

// The prediction: the next packet is a short message, whole and in order. All of its header but
// what it says is known, and each field is looked at once; nothing is changed before all have held.
// Each channel has its own copy of the code, in which every place is known.
[[gnu::always_inline]] inline bool Connection::accept_message(Instant now, const RxFrame& frame) {
    if (!fast_ || frame.bytes.size() < ShortHeader::size) return false;
    const auto head = frame.bytes.first<ShortHeader::size>();
    const std::uint64_t address = ShortHeader::address_in(head);
    if (address == receive_[0].single_address) {
        return accept_message_on<Channel::request>(now, frame);
    }
    return address == receive_[1].single_address && accept_message_on<Channel::reply>(now, frame);
}

template <Channel channel>
[[gnu::always_inline]] inline bool Connection::accept_message_on(Instant now,
                                                                 const RxFrame& frame) {
    const auto head = frame.bytes.first<ShortHeader::size>();
    const ShortHeader header = ShortHeader::decode(head);
    const ConstBytes arguments = frame.bytes.subspan(ShortHeader::size);
    const ReceiveWindow& window = receive_[static_cast<std::size_t>(channel)].window;
    const bool predicted = is_next(header, window) && header.id - 1 < handler_max &&
                           header.count * std::size_t{4} == arguments.size() &&
                           header.count <= config_.words_max && ShortHeader::filler_in(head) == 0 &&
                           (calm_ || takes_message(channel)) &&
                           (frame.integrity == Integrity::intact || is_signed(frame));
    if (!predicted) return false;
    if (frame.after_overrun) overrun_ = true;
    bundle_.left = 0;  // of a frame that is gone
    nothing_to_draw_ = false;
    commit(now, header.ack);
    pass_message<channel>(header.id, arguments);
    if (!calm_) calm_ = is_calm();
    (void)note_verdict(now, RxVerdict::accepted);
    return true;
}

[[gnu::always_inline]] inline void Connection::fill_plain(Channel channel,
                                                          const SendWindow::Saved& message,
                                                          TxFrame& out) {
    const bool alone = message.kind <= Kind::reply && sender(channel).window.lone() &&
                       message.count * std::size_t{4} <= copied_max;
    if (!alone) return fill_other(channel, message, out);
    if (channel == Channel::request) return fill_alone<Channel::request>(message, out);
    fill_alone<Channel::reply>(message, out);
}

/// A short message by itself.
template <Channel channel>
[[gnu::always_inline]] inline void Connection::fill_alone(const SendWindow::Saved& message,
                                                          TxFrame& out) {
    const ConstBytes data = sender(channel).window.lone_arguments(message);
    const Bytes room = out.add_all(ShortHeader::size + data.size());
    write_message<channel>(message.id, data, room);
    note_left(channel, message_kind(channel), 1, 1);
    if (out.wants_check()) sign_short(room, true);
}

// The next message of a bundle, if it is the one expected and can be had now. What is held on
// either channel comes before it, as soon as there is room for that.
[[gnu::always_inline]] inline bool Connection::unpack_plain() {
    if (!fast_) return false;
    return bundle_.channel == Channel::request ? unpack_plain_on<Channel::request>()
                                               : unpack_plain_on<Channel::reply>();
}

template <Channel channel>
[[gnu::always_inline]] inline bool Connection::unpack_plain_on() {
    constexpr bool is_request = channel == Channel::request;
    ReceiveWindow& window = receive_[static_cast<std::size_t>(channel)].window;
    const bool usual = bundle_.number == window.expected() && receive_[0].window.nothing_ahead() &&
                       receive_[1].window.nothing_ahead() && !(is_request && replies_.full());
    if (!usual) return false;
    const auto entry =
        BundleEntry::decode(std::span<const std::byte, BundleEntry::size>(bundle_.at, 4));
    pass_message<channel>(entry.handler,
                          ConstBytes(bundle_.at + BundleEntry::size, entry.words * std::size_t{4}));
    bundle_.number = window.expected();
    bundle_.at += BundleEntry::size + plain_.size;
    --bundle_.left;
    return true;
}

inline std::optional<Delivery> Connection::next_delivery() {
    may_reply_ = false;
    if (nothing_to_draw_) return std::nullopt;
    const bool usual = !drawn_slot_ && !ending_.active && ended_.empty() &&
                       receive_[0].window.nothing_ahead() && receive_[1].window.nothing_ahead();
    if (!usual) return draw_general();
    if (bundle_.left > 0 && !plain_here_ && !delivery_ && !unpack_plain()) {
        return draw_general();
    }
    if (plain_here_) unfold_plain();
    if (!delivery_) return std::nullopt;
    const std::optional<Delivery> drawn = delivery_;
    delivery_.reset();
    note_drawn(*drawn);
    return drawn;
}

inline const Connection::PlainMessage* Connection::take_message() {
    const bool usual = calm_ || (!drawn_slot_ && !ending_.active && ended_.empty());
    if (!usual) return nullptr;
    if (!plain_here_) {
        if (calm_ || bundle_.left == 0 || delivery_ || !unpack_plain()) return nullptr;
    }
    plain_here_ = false;
    may_reply_ = plain_.is_request;
    return &plain_;
}

template <Channel channel>
inline RunStart Connection::begin_calm_run() {
    run_ = channel;
    next_of_run_ = &send_[static_cast<std::size_t>(channel)].window.first_waiting();
    return RunStart::begun;
}

inline RunStart Connection::begin_run() {
    if (!calm_) return begin_any_run();
    const bool requests = send_[0].window.waiting() > 0;
    const bool replies = send_[1].window.waiting() > 0;
    if (requests && replies) return RunStart::mixed;
    if (requests) return begin_calm_run<Channel::request>();
    if (replies) return begin_calm_run<Channel::reply>();
    return small_talk_due() ? RunStart::mixed : RunStart::quiet;
}

inline bool Connection::may_gather() {
    SendWindow& requests = send_[0].window;
    return config_.gather > 0 && requests.waiting() < config_.gather &&
           (requests.under_way() >= config_.gather || requests.waits_for_answer()) &&
           requests.nothing_lost() && send_[1].window.settled() && nothing_else_to_say() &&
           !receive_[0].window.ack_due() && !receive_[1].window.ack_due() &&
           !send_[0].keepalive_due && !send_[1].keepalive_due;
}

}  // namespace wireproof::am
