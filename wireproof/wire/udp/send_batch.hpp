// Frames that leave with one system call. Their payload is pointed at until flush() returns, so
// what the kernel does not take then is dropped and counted: keeping it would mean copying it, and
// the protocols recover anyway.
//
// Frames of one length to one peer, one behind the other, leave as segments of a super-packet
// (UDP_SEGMENT), the last of which may be shorter: the kernel then walks its stack once for all of
// them. Where it refuses that, they leave one by one from then on.
//
// Where the peer takes in what comes at once, long batches cost the kernel less: 7.6 to 8.2 us a
// super-packet where three leave at once, 6.3 where five do on the mean. But the first of them
// leaves when the last is written, so a batch is short until one was full.
//
// Payload of ordinary packets is copied into the batch rather than pointed at, so that a
// super-packet is one piece: of 11 us that one of 44 packets took, its 88 pieces cost the kernel 3,
// where the copy, made in the pass that computes the CRC, takes half of one. Pages handed to the
// kernel (vmsplice, splice) in place of that copy were not faster.
#pragma once

#include <sys/uio.h>

#include <array>
#include <vector>

#include "wireproof/core/frame.hpp"
#include "wireproof/wire/udp/counters.hpp"
#include "wireproof/wire/udp/kernel_errors.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

class SendBatch {
public:
    /// How many a batch holds: at first, and at most, when one after the other was full.
    struct Frames {
        std::size_t first = 0;
        std::size_t most = 0;
    };

    /// The longest payload that is copied where super-packets leave, as LaneCapabilities has it.
    static constexpr std::size_t usual_copied_max = 4096;

    /// Changes the last bytes of a frame of `size` bytes in all, which was committed for that
    /// `place`, to what they are of a frame alone.
    using LeaveAlone = void (*)(std::span<std::byte, 4> last, std::size_t place, std::size_t size);

    struct Config {
        Frames frames = {};
        LaneCapabilities capabilities = {};  // but for what depends on super-packets
        /// With 1 each frame is a datagram of its own for the kernel, too.
        std::size_t segments_max = 1;
        std::size_t copied_max = usual_copied_max;
        LeaveAlone leave_alone = nullptr;  // null: no frame depends on its place
    };
    explicit SendBatch(const Config& config);

    const LaneCapabilities& capabilities() const { return capabilities_; }
    std::size_t segments_max() const { return segments_max_; }

    /// The next frame, empty; nullptr when the batch is full.
    TxFrame* claim();
    /// `to` names the destination while frames of this batch wait; `connected`: the socket's own.
    void commit(std::size_t peer, const SocketAddress& to, bool connected);

    /// Copies what the claimed frame points at, so that it is one piece.
    void take_in();
    /// The frames that would stand in its super-packet before one of that size, were it committed
    /// now.
    std::size_t place_of(std::size_t size, std::size_t peer) const;
    /// What is committed from now on joins nothing that was committed before.
    void end_super_packet();

    /// Many of them: none where frames of that size are not copied anyway.
    FrameRun claim_run(std::size_t size, std::size_t most);
    void commit_run(const FrameRun& run, std::size_t peer, const SocketAddress& to, bool connected);

    /// What the kernel refuses is counted, and noted by peer.
    void flush(int handle, UdpCounters& counters, KernelErrors& errors);

private:
    static constexpr std::size_t control_size = CMSG_SPACE(sizeof(std::uint16_t));

    /// One datagram for the kernel: a frame, or frames of one length, the last perhaps shorter.
    struct Packet {
        std::size_t peer = 0;
        const SocketAddress* to = nullptr;  // none: the socket is connected to it
        std::size_t frames = 0;
        std::size_t resent = 0;
        std::size_t size = 0;   // of a frame
        std::size_t bytes = 0;  // of all
        std::size_t piece = 0;  // where its pieces begin
        std::size_t pieces = 0;
        bool ended = false;  // by a shorter frame
        alignas(cmsghdr) std::array<std::byte, control_size> control{};
    };

    /// Before the next flush.
    std::size_t frames_left() const { return lent_ - count_; }
    std::size_t room_left() const;

    bool joins_last(std::size_t size, std::size_t peer) const;
    Packet& packet_for(std::size_t size, std::size_t peer, const SocketAddress* to);
    std::size_t fitting(const Packet& packet, std::size_t size) const;
    void add_piece(Packet& packet, ConstBytes bytes);
    void take_apart(std::size_t from);
    void leave_alone(const Packet& single, std::size_t place);
    void describe_from(std::size_t packet);
    void describe(Packet& packet, mmsghdr& message);
    int send(int handle, std::size_t next) const;
    static void count_sent(const Packet& packet, UdpCounters& counters);
    static bool refuses_segments(int error);

    Frames frames_;
    LaneCapabilities capabilities_;
    std::size_t segments_max_;
    LeaveAlone leave_alone_;
    std::size_t lent_;      // frames, before the next flush
    bool filled_ = false;   // and more room was asked for
    TxFrame frame_;         // the one claimed
    std::size_t used_ = 0;  // of the room
    std::size_t count_ = 0;
    std::size_t pieces_used_ = 0;
    std::size_t packet_count_ = 0;
    // The kernel is given pointers into all of these, so they never grow.
    std::vector<std::byte> room_;
    std::vector<iovec> pieces_;
    std::vector<Packet> packets_;
    std::vector<mmsghdr> messages_;
};

}  // namespace wireproof
