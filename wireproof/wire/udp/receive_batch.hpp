// Frames that came with one system call, handed out one at a time from buffers taken at
// construction. A super-packet that the kernel did not cut up (UDP_GRO) is many frames of one
// length, the last perhaps shorter.
//
// A quiet wire costs one system call a turn, not two: after a look that did not bring all it could
// have, "nothing" is said once without asking the kernel. One that brings frames again and again is
// asked for many datagrams at once.
//
// In a conversation on a connected socket, datagrams come one by one, and all that is wanted are
// their bytes: to be told whose they are, what was dropped and whether they are a super-packet
// costs a fifteenth of half a round trip. So the kernel is asked not to tell, until more come in a
// row.
#pragma once

#include <sys/uio.h>

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/wire/udp/counters.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

class ReceiveBatch {
public:
    struct Frame {
        ConstBytes bytes;
        const Address* from = nullptr;  // valid as long as the bytes
        bool begins = false;            // the first of its datagram that is handed out
        std::size_t place = 0;          // in its datagram
    };

    /// Room for so many datagrams. `grouped`: the socket was told to leave super-packets whole.
    ReceiveBatch(std::size_t datagrams, std::size_t frame_max, bool grouped);

    /// The next frame of at most frame_max bytes, lent until the next call. Asks the kernel at most
    /// once, so that a flood of bad frames holds nobody here.
    std::optional<Frame> next(int handle, UdpCounters& counters);

    /// Whole frames behind the last one in its datagram.
    RxRun following() const;
    /// The first so many of them were taken; returns their bytes.
    std::size_t take_following(std::size_t frames);

    /// The socket is connected to this peer; unset: to none.
    void hear_only(const Address& peer) {
        only_ = peer;
        lone_ = 0;  // and what waits may be another's
    }

    /// The last frame was nobody's: the kernel is asked again before "nothing" is said.
    void look_again() { drained_ = false; }

    /// The errno of the latest receive that failed, each once; 0: none since.
    int take_error() { return std::exchange(error_, 0); }

    /// Whether a frame is waiting here, where the kernel no longer shows it.
    bool has_frame() const { return more_ || next_ < filled_; }

private:
    static constexpr std::size_t control_size =
        CMSG_SPACE(sizeof(std::uint32_t)) + CMSG_SPACE(sizeof(int));

    // The kernel is given pointers into it, so slots never move.
    struct Slot {
        SocketAddress from{};
        iovec bytes{};
        alignas(cmsghdr) std::array<std::byte, control_size> control{};
    };

    // So many lone datagrams make a conversation; more each time that it turned out to be none.
    static constexpr std::uint32_t lone_least = 16;
    static constexpr std::uint32_t lone_most = 1024;

    std::optional<Frame> next_here(UdpCounters& counters);
    bool open_next(UdpCounters& counters);
    bool refill(int handle, UdpCounters& counters);
    void choose_way(int handle, UdpCounters& counters);
    bool begin_bare(int handle, UdpCounters& counters);
    bool look_bare(int handle, UdpCounters& counters);
    std::size_t ask(int handle, std::size_t datagrams, UdpCounters& counters);
    void count_failure(UdpCounters& counters);
    void reset(std::size_t i);
    std::size_t read_control(msghdr& header, UdpCounters& counters);

    std::size_t frame_max_;
    std::size_t buffer_size_;
    std::size_t next_ = 0;
    std::size_t filled_ = 0;
    bool drained_ = false;      // the last look left nothing in the kernel, or may have
    std::size_t in_a_row_ = 0;  // looks that brought something
    std::uint32_t kernel_dropped_ = 0;
    int error_ = 0;
    Address only_;
    bool bare_ = false;       // in a conversation
    std::uint32_t lone_ = 0;  // datagrams in a row that came by themselves, behind looks in vain
    std::uint32_t lone_wanted_ = lone_least;
    // The datagram that is handed out frame by frame.
    ConstBytes rest_;
    std::size_t at_ = 0;
    bool more_ = false;
    bool begins_ = false;
    std::size_t segment_ = 0;
    std::size_t place_ = 0;
    Address from_;
    std::vector<std::byte> buffers_;
    std::vector<Slot> slots_;
    std::vector<mmsghdr> messages_;
};

}  // namespace wireproof
