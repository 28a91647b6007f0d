// Frames that came with one system call, handed out one at a time from buffers taken at
// construction. After a batch that was not full it says "nothing" once without asking the kernel:
// a quiet wire so costs one system call a turn, not two.
#pragma once

#include <sys/uio.h>

#include <array>
#include <optional>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/wire/udp/counters.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

class ReceiveBatch {
public:
    struct Datagram {
        ConstBytes bytes;
        Address from;
    };

    ReceiveBatch(std::size_t frames, std::size_t frame_max);

    /// The next frame of at most frame_max bytes, lent until the next call. Asks the kernel at most
    /// once, so that a flood of bad frames holds nobody here.
    std::optional<Datagram> next(int handle, UdpCounters& counters);

    /// Whether a frame is waiting here, where the kernel no longer shows it.
    bool has_frame() const { return next_ < filled_; }

private:
    static constexpr std::size_t control_size = CMSG_SPACE(sizeof(std::uint32_t));

    // The kernel is given pointers into it, so slots never move.
    struct Slot {
        SocketAddress from{};
        iovec bytes{};
        alignas(cmsghdr) std::array<std::byte, control_size> control{};
    };

    std::optional<Datagram> next_in_batch(UdpCounters& counters);
    bool refill(int handle, UdpCounters& counters);
    void reset(std::size_t i);
    void count_kernel_drops(msghdr& header, UdpCounters& counters);

    std::size_t next_ = 0;
    std::size_t filled_ = 0;
    bool drained_ = false;  // the last batch left nothing in the kernel
    std::uint32_t kernel_dropped_ = 0;
    std::vector<std::byte> buffers_;
    std::vector<Slot> slots_;
    std::vector<mmsghdr> messages_;
};

}  // namespace wireproof
