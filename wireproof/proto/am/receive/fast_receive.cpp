// Conditions of the prediction that are seldom checked.
#include "wireproof/proto/am/receive/fast_receive.hpp"

namespace wireproof::am {

/// The other conditions for a short message, if it is not known that the fast path is open.
bool Receiver::takes_message(Channel channel, const Others& others) const {
    auto& [session, sender] = others;
    return session.is_open() && !session.leave.peer_leaves() &&
           (*this)[channel].window.nothing_ahead() &&
           !(channel == Channel::request && sender.replies.full());
}

[[gnu::noinline]] bool is_signed(const Config& config, const Arrival& arrival) {
    return arrival.integrity == Integrity::check &&
           checksum_holds(config.layout, arrival.head, arrival.bytes, false);
}

}  // namespace wireproof::am
