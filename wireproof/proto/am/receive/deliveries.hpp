// What waits to be drawn by the caller. Four sources, in this order: the ends of transfers and the
// beginning of a session; what the last frame brought; messages that were held and whose turn has
// come (the receive windows have them); the rest of a BUNDLE in the last frame.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/receive/unpacking.hpp"
#include "wireproof/proto/am/short_message.hpp"

namespace wireproof::am {

class Deliveries {
public:
    /// A held message that was drawn last: its arguments stay in use until the next draw.
    struct Held {
        Channel channel = Channel::request;
        std::uint32_t slot = 0;
    };

    explicit Deliveries(Ring<Delivery> ended) : ended_(std::move(ended)) {}

    // What arrives.

    [[gnu::always_inline]] void put(HandlerId handler, bool is_request, ConstBytes arguments) {
        // Field by field: a copy of the whole struct would wait for the fields just written.
        short_.handler = handler;
        short_.is_request = is_request;
        short_.data = arguments.data();
        short_.size = arguments.size();
        frame_ = OfFrame::message;
    }
    /// The message of the fast path is a delivery like any other from now on.
    void unfold() {
        if (has_message()) put(as_delivery(short_));
    }
    void put(const Delivery& delivery) {
        delivery_ = delivery;
        frame_ = OfFrame::delivery;
    }
    /// A transfer has ended, or a session begins.
    void add(const Delivery& ended) { ended_.push(ended); }
    void unpack(const Unpacking& bundle) { bundle_ = bundle; }
    Unpacking& bundle() { return bundle_; }
    const Unpacking& bundle() const { return bundle_; }
    bool unpacks() const { return bundle_.messages.left() > 0; }
    /// And nothing else of the frame waits.
    bool must_unpack() const { return unpacks() && !has_message() && !has_delivery(); }
    /// Another frame may be in the place of the last one, so nothing of it may be unpacked.
    void leave_frame() {
        bundle_.messages.drop();
        if (frame_ == OfFrame::nothing_at_all) frame_ = OfFrame::nothing;
    }
    /// The frame brought nothing, and nothing is held. If nothing else waits, the next draw need
    /// not look.
    void expect_nothing() {
        if (empty()) frame_ = OfFrame::nothing_at_all;
    }

    // What the caller draws.

    bool has_message() const { return frame_ == OfFrame::message; }
    bool has_delivery() const { return frame_ == OfFrame::delivery; }
    bool has_ended() const { return !ended_.empty(); }
    bool has_drawn_held() const { return drawn_.has_value(); }
    bool known_empty() const { return frame_ == OfFrame::nothing_at_all; }
    /// Nothing waits, except perhaps a message of the fast path.
    bool at_most_message() const {
        return frame_ != OfFrame::delivery && ended_.empty() && !drawn_ && !unpacks();
    }
    bool empty() const { return at_most_message() && frame_ != OfFrame::message; }

    const ShortMessage& take_message() {
        frame_ = OfFrame::nothing;
        may_reply_ = short_.is_request;
        return short_;
    }
    /// What the last frame brought. AM-22, AM-23: the caller may answer requests and stores, but
    /// not replies.
    std::optional<Delivery> take_of_frame() {
        if (has_message()) return as_delivery(take_message());
        if (!has_delivery()) return std::nullopt;
        frame_ = OfFrame::nothing;
        may_reply_ =
            std::holds_alternative<Request>(delivery_) || std::holds_alternative<Stored>(delivery_);
        return delivery_;
    }
    Delivery take_ended() {
        const Delivery ended = ended_.front();
        ended_.pop();
        return ended;
    }
    void drew_held(const Held& held) { drawn_ = held; }
    /// The held message that was drawn before; its slot is free now.
    std::optional<Held> take_drawn_held() { return std::exchange(drawn_, std::nullopt); }

    /// The caller may answer the delivery that it drew last.
    bool may_reply() const { return may_reply_; }
    void end_reply() { may_reply_ = false; }

    /// The session has ended: what its last frame brought is not delivered. But what has ended
    /// before is reported.
    void drop() {
        frame_ = OfFrame::nothing;
        bundle_.messages.drop();
    }
    /// For a new session. All that had ended has been drawn.
    void reset() {
        drop();
        may_reply_ = false;
        drawn_.reset();
    }
    void exchange(Ring<Delivery>& ended) {
        may_reply_ = false;
        std::swap(ended_, ended);
    }
    void fingerprint(Fingerprint& sink) const {
        const bool some = has_message() || has_delivery();
        sink.add(some);
        if (some) am::add(has_message() ? as_delivery(short_) : delivery_, sink);
        sink.add(bundle_.messages.left());
        sink.add(ended_.size());
        for (std::size_t i = 0; i < ended_.size(); ++i) am::add(ended_[i], sink);
        sink.add(drawn_.has_value());
        sink.add(may_reply_);
    }

private:
    /// What the last frame brought and the caller has not drawn.
    enum class OfFrame : std::uint8_t {
        nothing,         // but there may be a held message, or the rest of a bundle
        nothing_at_all,  // and there is nothing else either
        message,         // short_, of the fast path
        delivery,        // delivery_
    };

    OfFrame frame_ = OfFrame::nothing;
    bool may_reply_ = false;
    ShortMessage short_;
    Delivery delivery_;
    Unpacking bundle_;
    Ring<Delivery> ended_;
    std::optional<Held> drawn_;
};

}  // namespace wireproof::am
