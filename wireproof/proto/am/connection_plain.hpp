// The half of the short way (connection_plain.cpp) that is written out where it is called: what is
// done for each message, or each time one may wait. The end of connection.hpp; not to be included
// alone.
#pragma once

#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

[[gnu::always_inline]] inline ShortHeader Connection::plain_header(Channel channel) const {
    const SendWindow& window = sender(channel).window;
    ShortHeader header;
    header.route = route_;
    header.round = window.round();
    header.cookie = handshake_.cookie();
    header.number = window.first_unsent();
    header.ack = {receive_[0].window.expected(), receive_[1].window.expected()};
    return header;
}

inline RxVerdict Connection::note_verdict(Instant now, RxVerdict verdict) {
    if (holds_acks_ && verdict == RxVerdict::accepted && !timers_.running(Timer::held_ack)) {
        timers_.set(Timer::held_ack, now + config_.ack_after);
    }
    ++stats_.received[static_cast<std::size_t>(verdict)];
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
        if (!waits_for_peer()) waited_ = false;
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
    constexpr auto at = static_cast<std::size_t>(channel);
    SendWindow& window = send_[at].window;
    const ConstBytes data = window.lone_arguments(message);
    // Room first: a header that is written at once, and that nobody else sees, stays in registers;
    // in memory it would be written in parts and read in words, which waits for the parts.
    const Bytes room = out.add_all(ShortHeader::size + data.size());
    ShortHeader header = plain_header(channel);
    header.address = send_[at].addresses.single;
    header.count = message.count;
    header.id = message.id;
    header.encode(room.first<ShortHeader::size>());
    copy_short(room.data() + ShortHeader::size, data.data(), data.size());
    ++stats_.sent[static_cast<std::size_t>(channel == Channel::request ? Kind::request
                                                                       : Kind::reply)];
    window.plain_departed(1);
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
    plain_.handler = static_cast<HandlerId>(entry.handler);
    plain_.is_request = is_request;
    plain_.data = bundle_.at + BundleEntry::size;
    plain_.size = entry.words * std::size_t{4};
    plain_here_ = true;
    window.pass_plain();
    if (is_request) refused_need_ = Need::nothing;
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
