#include "wireproof/cli/no_answer.hpp"

#include <fmt/format.h>

namespace wireproof::cli {

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

}  // namespace wireproof::cli
