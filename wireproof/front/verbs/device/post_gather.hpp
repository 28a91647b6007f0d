// Decides which posted work leaves at once and which work waits for more, so that small packets
// share a super-packet. As in Nagle's algorithm, no work waits while few packets are unanswered. If
// many are, an answer that is on its way gives the next chance to send.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wireproof::verbs {

class PostGather {
public:
    /// If the peer has fewer unanswered packets than this, the work leaves at once.
    static constexpr std::uint32_t unanswered_least = 8;
    /// With this many packets the work no longer waits: they fill a super-packet at path MTU 4096.
    static constexpr std::size_t most = 16;

    /// The program posted work of `packets` packets, while `unanswered` packets have no answer.
    /// Returns false if all work that waits must leave now.
    bool waits(std::size_t packets, std::uint32_t unanswered) {
        gathered_ += packets;
        return gathered_ < most && unanswered >= unanswered_least;
    }
    bool any() const { return gathered_ > 0; }
    /// All packets that were ready have left.
    void left() { gathered_ = 0; }

private:
    std::size_t gathered_ = 0;  // packets
};

}  // namespace wireproof::verbs
