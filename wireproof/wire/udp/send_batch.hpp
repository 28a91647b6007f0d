// Frames that leave with one system call. The batch points to their payload until flush() returns.
// A frame that the kernel does not take then is dropped and counted: to keep it, the batch would
// have to copy it, and the protocols recover anyway.
//
// Consecutive frames of one length to one peer leave as segments of a super-packet (UDP_SEGMENT);
// the last segment may be shorter. The kernel then runs through its stack once for all of them. If
// the kernel refuses one, frames to that peer leave one by one until the peer gets another address:
// the path to another peer may carry super-packets.
//
// If the peer receives frames as soon as they arrive, long batches cost the kernel less: 7.6 to 8.2
// us for a super-packet if three leave at once, 6.3 us if five do on average. But the first frame
// leaves only after the last is written, so a batch is short until one batch was full.
//
// Payload of ordinary packets is copied into the batch, so that a super-packet is one piece.
// Otherwise a super-packet of 44 packets has 88 pieces: they cost the kernel 3 us of the 11 us that
// it took. The copy, made while the CRC is computed, takes half a microsecond. Giving pages to the
// kernel (vmsplice, splice) instead was not faster.
#pragma once

#include <netinet/in.h>
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
    /// How many frames a batch holds: at first, and at most, after full batches.
    struct Frames {
        std::size_t first = 0;
        std::size_t most = 0;
    };

    /// The longest payload that is copied if super-packets leave (LaneCapabilities::copied_max).
    static constexpr std::size_t usual_copied_max = 4096;

    /// Changes the last bytes of a frame that now leaves alone. The frame has `size` bytes in all,
    /// and was committed for this `place` in a super-packet.
    using LeaveAlone = void (*)(std::span<std::byte, 4> last, std::size_t place, std::size_t size);

    struct Config {
        Frames frames = {};
        LaneCapabilities capabilities = {};  // without what depends on super-packets
        /// With 1, the kernel gets each frame as a datagram of its own.
        std::size_t segments_max = 1;
        std::size_t copied_max = usual_copied_max;
        LeaveAlone leave_alone = nullptr;  // null: no frame depends on its place
    };
    explicit SendBatch(const Config& config);

    /// Of the lane to the peer.
    LaneCapabilities capabilities(std::size_t peer) const {
        LaneCapabilities capabilities = capabilities_;
        if (is_refused(peer)) capabilities.prefers_equal_sizes = false;
        return capabilities;
    }
    std::size_t segments_max() const { return segments_max_; }
    /// No frame waits for the flush.
    bool is_empty() const { return count_ == 0; }

    /// The next frame, to this peer, empty; nullptr when the batch is full.
    TxFrame* claim(std::size_t peer);
    /// The peer gets another address, so super-packets to it are tried again.
    void forget_refusal(std::size_t peer) {
        if (is_refused(peer)) refused_[peer] = false;
    }
    /// `route` must stay valid until the flush.
    void commit(std::size_t peer, const Route& route);

    /// Copies the payload of the claimed frame into the batch, so that the frame is one piece.
    void copy_payload();
    /// The place in a super-packet that a frame of this size would get if it were committed now:
    /// the number of frames before it.
    std::size_t place_of(std::size_t size, std::size_t peer) const;
    /// Frames that are committed from now on do not join a super-packet from before.
    void end_super_packet();

    /// The same for many frames of one size. Empty if frames of that size are not copied.
    FrameRun claim_run(std::size_t size, std::size_t most);
    void commit_run(const FrameRun& run, std::size_t peer, const Route& route);

    /// Counts the frames that the kernel refuses, and notes the error for the peer.
    void flush(int handle, UdpCounters& counters, KernelErrors& errors);

private:
    static constexpr std::size_t control_size =
        CMSG_SPACE(sizeof(std::uint16_t)) + CMSG_SPACE(sizeof(in6_pktinfo));

    /// One datagram for the kernel: a frame, or frames of one length; the last may be shorter.
    struct Packet {
        std::size_t peer = 0;
        const Route* route = nullptr;
        std::size_t frames = 0;
        std::size_t resent = 0;
        std::size_t size = 0;   // of a frame
        std::size_t bytes = 0;  // of all
        std::size_t piece = 0;  // the index of its first piece
        std::size_t pieces = 0;
        bool ended = false;  // no frame may join any more
        alignas(cmsghdr) std::array<std::byte, control_size> control{};
    };

    /// Frames that may still be committed before the next flush.
    std::size_t frames_left() const { return lent_ - count_; }
    std::size_t room_left() const;

    bool joins_last(std::size_t size, std::size_t peer) const;
    Packet& packet_for(std::size_t size, std::size_t peer, const Route& route);
    std::size_t fitting(const Packet& packet, std::size_t size) const;
    void add_piece(Packet& packet, ConstBytes bytes);
    void take_apart(std::size_t from);
    void leave_alone(const Packet& single, std::size_t place);
    void describe_from(std::size_t packet);
    void describe(Packet& packet, mmsghdr& message);
    int send(int handle, std::size_t next) const;
    static void count_sent(const Packet& packet, UdpCounters& counters);
    static bool refuses_segments(int error);
    /// The kernel has refused a super-packet to the peer.
    bool is_refused(std::size_t peer) const { return peer < refused_.size() && refused_[peer]; }
    void note_refusal(std::size_t peer);

    Frames frames_;
    LaneCapabilities capabilities_;
    std::size_t segments_max_;
    std::vector<bool> refused_;  // by peer
    LeaveAlone leave_alone_;
    std::size_t lent_;      // the frames that this batch may hold
    bool filled_ = false;   // claim() found no room
    TxFrame frame_;         // the claimed frame
    std::size_t used_ = 0;  // bytes of room_
    std::size_t count_ = 0;
    std::size_t pieces_used_ = 0;
    std::size_t packet_count_ = 0;
    // The kernel gets pointers into all of these, so they never grow.
    std::vector<std::byte> room_;
    std::vector<iovec> pieces_;
    std::vector<Packet> packets_;
    std::vector<mmsghdr> messages_;
};

}  // namespace wireproof
