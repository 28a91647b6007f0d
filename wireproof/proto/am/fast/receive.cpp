// Conditions of the prediction that are asked seldom.

#include "wireproof/proto/am/receive/receiver.hpp"

namespace wireproof::am {
/// What else must hold before a short message is passed, where the fast path is not known to be
/// open.
bool Receiver::takes_message(Channel channel) const {
    return handshake_.established() && !ending_.active &&
           receiver(channel).window.nothing_ahead() &&
           !(channel == Channel::request && replies_.full());
}

/// The wire does not vouch for the frame, and its checksum holds.
[[gnu::noinline]] bool Receiver::is_signed(const RxFrame& frame) const {
    return frame.integrity == Integrity::check && checksum_holds(config_.layout, frame.bytes);
}

}  // namespace wireproof::am
