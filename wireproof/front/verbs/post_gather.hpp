// Which posted work leaves at once and which waits for more of it, so that small packets share a
// super-packet. As with Nagle's algorithm, none waits while little is unanswered: an answer that is
// on its way brings the next chance to send.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wireproof::verbs {

class PostGather {
public:
    /// A peer with fewer unanswered packets gets the next one at once.
    static constexpr std::uint32_t unanswered_least = 8;
    /// So many packets leave, and no longer wait: those of a full super-packet of path MTU 4096.
    static constexpr std::size_t most = 16;

    /// Work of so many packets was posted, while the peer has so many unanswered. False: all that
    /// waits is to leave now.
    bool waits(std::size_t packets, std::uint32_t unanswered) {
        gathered_ += packets;
        return gathered_ < most && unanswered >= unanswered_least;
    }
    bool any() const { return gathered_ > 0; }
    /// What there is to send has left.
    void left() { gathered_ = 0; }

private:
    std::size_t gathered_ = 0;  // packets
};

}  // namespace wireproof::verbs
