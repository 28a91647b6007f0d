// Deliveries and verdicts. The end of receiver.hpp includes this file; no other file may.
#pragma once

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
inline RxVerdict Receiver::note_verdict(Instant now, RxVerdict verdict, std::uint32_t frames) {
    if (holds_acks_ && verdict == RxVerdict::accepted && !timers_.running(Timer::held_ack)) {
        timers_.set(Timer::held_ack, now + config_.ack_after);
    }
    stats_.received[static_cast<std::size_t>(verdict)] += frames;
    return verdict;
}

inline std::optional<Delivery> Receiver::next_delivery() {
    may_reply_ = false;
    if (nothing_to_draw_) return std::nullopt;
    const bool usual = !drawn_slot_ && !ending_.active && ended_.empty() &&
                       receive_[0].window.nothing_ahead() && receive_[1].window.nothing_ahead();
    if (!usual) return draw_general();
    if (bundle_.messages.left() > 0 && !short_here_ && !delivery_ && !unpack_fast()) {
        return draw_general();
    }
    if (short_here_) unfold_short();
    if (!delivery_) return std::nullopt;
    const std::optional<Delivery> drawn = delivery_;
    delivery_.reset();
    note_drawn(*drawn);
    return drawn;
}

inline const ShortMessage* Receiver::take_message() {
    const bool usual = predicting_ || (!drawn_slot_ && !ending_.active && ended_.empty());
    if (!usual) return nullptr;
    if (!short_here_) {
        if (predicting_ || bundle_.messages.left() == 0 || delivery_ || !unpack_fast())
            return nullptr;
    }
    short_here_ = false;
    may_reply_ = short_.is_request;
    return &short_;
}

}  // namespace wireproof::am
