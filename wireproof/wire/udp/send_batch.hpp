// Frames that leave with one system call. Their payload is pointed at until flush() returns, so
// what the kernel does not take then is dropped and counted: keeping it would mean copying it, and
// the protocols recover anyway.
#pragma once

#include <sys/uio.h>

#include <array>
#include <vector>

#include "wireproof/core/frame.hpp"
#include "wireproof/wire/udp/counters.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

class SendBatch {
public:
    SendBatch(std::size_t frames, LaneTerms terms);

    const LaneTerms& terms() const { return terms_; }

    /// The next frame, empty; nullptr when the batch is full.
    TxFrame* claim();
    void commit(const SocketAddress& to);

    void flush(int handle, UdpCounters& counters);

private:
    // One frame's memory. The kernel is given pointers into it, so slots never move.
    struct Slot {
        TxFrame frame;
        SocketAddress to{};
        std::array<iovec, TxFrame::pieces_max> pieces{};
    };

    void count_sent(std::size_t first, std::size_t frames, UdpCounters& counters) const;

    LaneTerms terms_;
    std::size_t count_ = 0;
    std::vector<std::byte> rooms_;
    std::vector<Slot> slots_;
    std::vector<mmsghdr> messages_;
};

}  // namespace wireproof
