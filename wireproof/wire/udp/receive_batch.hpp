// Frames that one system call received, returned one at a time from buffers that the constructor
// allocates. A super-packet that the kernel did not cut up (UDP_GRO) has many frames of one length;
// the last may be shorter.
//
// On a quiet wire, a turn costs one system call, not two: after a call that may have taken all that
// the kernel had, next() returns nothing once without asking the kernel. If calls receive frames
// again and again, the next call asks for many datagrams at once.
//
// In a conversation on a connected socket, datagrams come one by one, and the wire needs only their
// bytes. If the kernel also reports the source, the drops and the segment length, this costs a
// fifteenth of half a round trip. So the batch tells the kernel not to report them until several
// datagrams come in a row. If the batch reads marks, the kernel still reports those.
#pragma once

#include <netinet/in.h>
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
        const Address* to = nullptr;  // of this host, as long; null: the kernel does not report it
        bool begins = false;          // the first frame of its datagram that is returned
        std::size_t place = 0;        // its index in the datagram
        bool marked = false;          // a router marked its datagram (ECN)
    };

    struct Config {
        std::size_t datagrams = 1;  // at once; with `grouped` at most four
        std::size_t frame_max = 0;
        bool grouped = false;      // the socket was told to leave super-packets whole
        bool reads_marks = false;  // it was told to report the ECN field of each datagram
    };

    explicit ReceiveBatch(const Config& config);

    /// The next frame of at most frame_max bytes, valid until the next call. Asks the kernel at
    /// most once, so that a flood of bad frames does not keep the caller here.
    std::optional<Frame> next(int handle, UdpCounters& counters);

    /// The frames of full length that follow the last returned one in its datagram. None follow in
    /// a marked datagram: next() returns each of its frames with the mark.
    RxRun following() const;
    /// Takes the first `frames` of them. Returns their bytes.
    std::size_t take_following(std::size_t frames);

    /// The socket is connected to this peer. Unset: it is not connected.
    void hear_only(const Address& peer) {
        only_ = peer;
        to_ = {};
        lone_ = 0;  // and waiting datagrams may be from another peer
    }

    /// The caller dropped the last frame: the next call asks the kernel before it returns nothing.
    void look_again() { drained_ = false; }

    /// Whether the last call of next() asked the kernel.
    bool asked() const { return asked_; }
    /// Whether the kernel had nothing more after it was last asked.
    bool emptied() const { return emptied_; }

    /// The errno of the latest failed receive since the last call of this function. 0: none failed.
    int take_error() { return std::exchange(error_, 0); }

    /// Whether a frame waits here, where the socket no longer shows it.
    bool has_frame() const { return more_ || next_ < filled_; }

private:
    static constexpr std::size_t control_size = CMSG_SPACE(sizeof(std::uint32_t)) +
                                                2 * CMSG_SPACE(sizeof(int)) +
                                                CMSG_SPACE(sizeof(in6_pktinfo));

    // The kernel gets pointers into the slots, so they never move.
    struct Slot {
        SocketAddress from{};
        iovec bytes{};
        alignas(cmsghdr) std::array<std::byte, control_size> control{};
    };

    // How many lone datagrams make a conversation. The number doubles, up to lone_most, each time
    // that a conversation has ended.
    static constexpr std::uint32_t lone_least = 16;
    static constexpr std::uint32_t lone_most = 1024;

    std::optional<Frame> next_here(UdpCounters& counters);
    bool open_next(UdpCounters& counters);
    bool refill(int handle, UdpCounters& counters);
    void choose_way(int handle, UdpCounters& counters);
    bool begin_bare(int handle, UdpCounters& counters);
    bool look_bare(int handle, UdpCounters& counters);
    ssize_t receive_bare(int handle, UdpCounters& counters);
    std::size_t ask(int handle, std::size_t datagrams, UdpCounters& counters);
    void count_failure(UdpCounters& counters);
    void reset(std::size_t i);
    void read_control(msghdr& header, UdpCounters& counters);

    std::size_t frame_max_;
    std::size_t buffer_size_;
    bool reads_marks_;
    std::size_t next_ = 0;
    std::size_t filled_ = 0;
    bool drained_ = false;  // the last call may have taken all that the kernel had
    bool asked_ = false;
    bool emptied_ = false;
    std::size_t in_a_row_ = 0;  // calls that received something
    std::uint32_t kernel_dropped_ = 0;
    int error_ = 0;
    Address only_;
    bool bare_ = false;       // in a conversation
    std::uint32_t lone_ = 0;  // datagrams in a row that came alone, after a call in vain
    std::uint32_t lone_wanted_ = lone_least;
    // The datagram whose frames are returned one by one.
    ConstBytes rest_;
    std::size_t at_ = 0;
    bool more_ = false;
    bool begins_ = false;
    std::size_t segment_ = 0;
    std::size_t place_ = 0;
    bool marked_ = false;
    Address from_;
    Address to_;  // unset: not reported
    std::vector<std::byte> buffers_;
    std::vector<Slot> slots_;
    std::vector<mmsghdr> messages_;
};

}  // namespace wireproof
