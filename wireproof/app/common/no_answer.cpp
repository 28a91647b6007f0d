#include "wireproof/app/common/no_answer.hpp"

#include <fmt/format.h>

namespace wireproof::app {

std::string silence(Duration peer_timeout, const std::string& cause) {
    return fmt::format("the other side has been silent for {:g} s{}", peer_timeout.seconds(),
                       cause.empty() ? "" : ": " + cause);
}

std::string no_answer(const Unanswered& frame, Duration peer_timeout, std::size_t framing,
                      std::size_t mtu, const std::string& cause) {
    return fmt::format(
        "the other side is there but has not answered a packet of {} bytes, sent again {} times in "
        "{:g} s{}: does the path carry packets of that size? (--mtu {})",
        frame.bytes + framing, frame.times, peer_timeout.seconds(),
        cause.empty() ? "" : ", and the kernel says: " + cause, mtu);
}

std::string describe_loss(const am::PeerLost& lost, const am::Config& config, std::size_t framing) {
    switch (lost.why) {
        case am::PeerLost::Why::silent:
            if (lost.by_peer) return "the other side heard nothing from here for its peer timeout";
            return silence(config.peer_timeout, lost.cause);
        case am::PeerLost::Why::restarted: return "the other side was restarted";
        case am::PeerLost::Why::gone: return "the other side is gone";
        case am::PeerLost::Why::unanswered:
            if (lost.by_peer) {
                return fmt::format(
                    "a packet of {} bytes, which the other side sent {} times again, never arrived "
                    "here: does the path carry packets of that size? (--mtu {})",
                    lost.packet_bytes + framing, lost.packet_times, config.packet_max + framing);
            }
            return no_answer({.times = lost.packet_times, .bytes = lost.packet_bytes},
                             config.peer_timeout, framing, config.packet_max + framing, lost.cause);
    }
    return {};
}

}  // namespace wireproof::app
