// Conditions of the prediction that are seldom checked.

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
/// The other conditions for a short message, if it is not known that the fast path is open.
bool Receiver::takes_message(Channel channel) const {
    return handshake_.established() && !ending_.active && !leave_.peer_leaves() &&
           receiver(channel).window.nothing_ahead() &&
           !(channel == Channel::request && replies_.full());
}

/// The wire has not checked the frame, and the checksum of the frame is right.
[[gnu::noinline]] bool Receiver::is_signed(const Arrival& arrival) const {
    return arrival.integrity == Integrity::check &&
           checksum_holds(config_.layout, arrival.head, arrival.bytes, false);
}

}  // namespace wireproof::am
