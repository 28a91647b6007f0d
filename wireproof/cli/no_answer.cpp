#include "wireproof/cli/no_answer.hpp"

#include <fmt/format.h>

namespace wireproof::cli {

std::string no_answer(const Unanswered& frame, Duration peer_timeout, std::size_t framing,
                      std::size_t mtu) {
    return fmt::format(
        "the other side is there but has not answered a packet of {} bytes, sent again {} times in "
        "{:g} s: does the path carry packets of that size? (--mtu {})",
        frame.bytes + framing, frame.times, peer_timeout.seconds(), mtu);
}

}  // namespace wireproof::cli
