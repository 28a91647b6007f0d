// Deliveries that the fast path does not have.

#include <utility>

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
void Receiver::unfold_short() {
    short_here_ = false;
    delivery_ = as_delivery(short_);
}

std::optional<Delivery> Receiver::draw_general() {
    predicting_ = false;
    if (short_here_) unfold_short();
    if (drawn_slot_) {
        receiver(drawn_channel_).window.free_slot(*drawn_slot_);
        drawn_slot_.reset();
    }
    if (ending_.active) return draw_ending();
    while (true) {
        // The caller first draws what the frame's acknowledgements ended and the session that it
        // may have begun.
        if (!ended_.empty()) {
            const Delivery drawn = ended_.front();
            ended_.pop();
            return drawn;
        }
        if (delivery_) {
            std::optional<Delivery> drawn;
            drawn.swap(delivery_);
            note_drawn(*drawn);
            return drawn;
        }
        if (place_early() || pass_held(Channel::request) || pass_held(Channel::reply)) continue;
        if (bundle_.messages.left() == 0) return std::nullopt;
        (void)unpack_next();
        if (short_here_) unfold_short();
    }
}

}  // namespace wireproof::am
