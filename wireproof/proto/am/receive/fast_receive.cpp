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

[[gnu::noinline]] bool is_signed(const Config& config, ConstBytes frame, std::uint32_t sum) {
    const std::size_t size = HeaderWords::size;
    return sum == checksum(config.layout, frame.first(size), frame.subspan(size));
}

}  // namespace wireproof::am
