// What a link engine has to deliver and its caller has not taken yet.
#pragma once

#include <optional>
#include <utility>

#include "wireproof/core/link_engine.hpp"

namespace wireproof {

/// Between two calls of an engine at most one message arrives. Its bytes stay where they are, in
/// the received frame or in the engine.
class LinkDeliveries {
public:
    void up() { life_ |= came_up; }
    /// The link ends, and what was not taken is dropped. Its caller hears of it if the link was up.
    void down(bool was_up) {
        life_ = was_up ? went_down : life_ & went_down;
        message_.reset();
    }
    void message(ConstBytes bytes) { message_ = bytes; }

    bool has_message() const { return message_.has_value(); }
    /// The link went down or came up.
    bool has_event() const { return life_ != 0; }
    bool empty() const { return !has_event() && !has_message(); }

    /// The oldest one: after a new life of the peer, a down is followed by an up.
    std::optional<LinkDelivery> next() {
        if (has_event()) {
            const unsigned first = life_ & went_down ? went_down : came_up;
            life_ &= ~first;
            return LinkDelivery{first == went_down ? LinkDelivery::What::down
                                                   : LinkDelivery::What::up};
        }
        if (!message_) return std::nullopt;
        return LinkDelivery{LinkDelivery::What::message, *std::exchange(message_, std::nullopt)};
    }

    /// Not the bytes of the message.
    void fingerprint(Fingerprint& sink) const {
        sink.add(life_);
        sink.add(message_.has_value());
        if (message_) sink.add(message_->size());
    }

private:
    static constexpr unsigned went_down = 1;
    static constexpr unsigned came_up = 2;

    unsigned life_ = 0;  // what the caller has not heard of it
    std::optional<ConstBytes> message_;
};

}  // namespace wireproof
