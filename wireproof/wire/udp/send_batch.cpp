// One system call per flush, more only after an error: the kernel then tells how many packets left
// and the reason of the next one only when asked again.
#include "wireproof/wire/udp/send_batch.hpp"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace wireproof {
namespace {

// A refusal is a report about an earlier frame; asking again sends this one. A few reports may have
// gathered, but a kernel that only refuses must not hold us here.
constexpr int refusals_max = 3;

// What one datagram may hold over IPv4 or IPv6, headers taken off.
constexpr std::size_t super_packet_max = 65'000;

// Of longer packets there are few in a super-packet, and pointing at them costs nothing.
constexpr std::size_t copied_max = 4096;

// Frames that write more than this into room fill the batch sooner.
constexpr std::size_t usual_room = 2048;

constexpr std::size_t kernel_pieces_max = 1024;

bool follows(const iovec& before, const iovec& next) {
    return static_cast<std::byte*>(before.iov_base) + before.iov_len == next.iov_base;
}

// For one piece without control data the kernel need not read a description of it: 0.15 us of 3.4
// for a datagram of 112 bytes there and back.
ssize_t send_one(int handle, const msghdr& header) {
    if (header.msg_iovlen != 1 || header.msg_controllen > 0) return ::sendmsg(handle, &header, 0);
    return ::sendto(handle, header.msg_iov->iov_base, header.msg_iov->iov_len, 0,
                    static_cast<const sockaddr*>(header.msg_name), header.msg_namelen);
}

}  // namespace

SendBatch::SendBatch(std::size_t frames, LaneTerms terms, std::size_t segments_max)
    : terms_(terms),
      segments_max_(segments_max),
      room_(frames * std::min(terms.frame_max, usual_room) + terms.frame_max),
      slots_(frames),
      pieces_(frames * TxFrame::pieces_max),
      packets_(frames),
      messages_(frames) {
    terms_.copied_max = segments_max > 1 ? copied_max : 0;
    terms_.prefers_alike = segments_max > 1 && 2 * terms.frame_max <= super_packet_max;
}

TxFrame* SendBatch::claim() {
    if (count_ == slots_.size() || room_.size() - used_ < terms_.frame_max) return nullptr;
    frame_.open(Bytes(room_).subspan(used_, terms_.frame_max), terms_);
    return &frame_;
}

void SendBatch::commit(std::size_t peer, const SocketAddress& to, bool connected) {
    WIREPROOF_CHECK(count_ < slots_.size());
    Slot& slot = slots_[count_++];
    slot.peer = peer;
    slot.to = connected ? nullptr : &to;
    slot.size = frame_.size();
    slot.piece = pieces_used_;
    slot.resent = frame_.resent();
    for (const ConstBytes piece : frame_.pieces()) {
        // The kernel's struct serves both directions; sending only reads.
        pieces_[pieces_used_++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    slot.pieces = pieces_used_ - slot.piece;
    slot.follows =
        slot.pieces == 1 && slot.piece > 0 && follows(pieces_[slot.piece - 1], pieces_[slot.piece]);
    used_ += frame_.room_used();
}

FrameRun SendBatch::claim_run(std::size_t size, std::size_t most) {
    const std::size_t left = room_.size() - used_;
    if (size == 0 || size > terms_.copied_max || left < terms_.frame_max) return {};
    const std::size_t frames = std::min({most, slots_.size() - count_, left / size});
    if (frames < 2) return {};
    return {Bytes(room_).subspan(used_, frames * size), frames, size, !terms_.carries_intact};
}

void SendBatch::commit_run(const FrameRun& run, std::size_t peer, const SocketAddress& to,
                           bool connected) {
    WIREPROOF_CHECK(run.frames <= slots_.size() - count_);
    for (std::size_t i = 0; i < run.frames; ++i) {
        iovec& piece = pieces_[pieces_used_];
        piece = {run.room.data() + i * run.size, run.size};
        Slot& slot = slots_[count_++];
        slot = {};
        slot.peer = peer;
        slot.to = connected ? nullptr : &to;
        slot.size = run.size;
        slot.piece = pieces_used_;
        slot.pieces = 1;
        slot.follows = pieces_used_ > 0 && follows(pieces_[pieces_used_ - 1], piece);
        ++pieces_used_;
    }
    used_ += run.room.size();
}

std::size_t SendBatch::end_of_packet(std::size_t first) const {
    const Slot& head = slots_[first];
    std::size_t bytes = head.size;
    std::size_t pieces = head.pieces;
    std::size_t end = first + 1;
    for (; end < count_ && end - first < segments_max_; ++end) {
        const Slot& next = slots_[end];
        bytes += next.size;
        pieces += next.pieces;
        const bool joins = next.peer == head.peer && next.size <= head.size && next.size > 0 &&
                           bytes <= super_packet_max && pieces <= kernel_pieces_max;
        if (!joins) break;
        if (next.size < head.size) return end + 1;
    }
    return end;
}

void SendBatch::build(std::size_t from) {
    packet_count_ = 0;
    while (from < count_) {
        Packet& packet = packets_[packet_count_];
        packet.first = from;
        packet.end = from = end_of_packet(from);
        fill(messages_[packet_count_++], packet);
    }
}

bool SendBatch::is_one_piece(const Packet& packet) const {
    if (slots_[packet.first].pieces != 1) return false;
    for (std::size_t i = packet.first + 1; i < packet.end; ++i) {
        if (!slots_[i].follows) return false;
    }
    return true;
}

void SendBatch::fill(mmsghdr& message, Packet& packet) {
    const Slot& head = slots_[packet.first];
    const Slot& last = slots_[packet.end - 1];
    msghdr& header = message.msg_hdr;
    header = {};
    if (head.to != nullptr) {
        header.msg_name = const_cast<SocketAddress*>(head.to);
        header.msg_namelen = length_of(*head.to);
    }
    header.msg_iov = &pieces_[head.piece];
    header.msg_iovlen = last.piece + last.pieces - head.piece;
    if (packet.end - packet.first == 1) return;
    if (is_one_piece(packet)) {
        packet.whole = pieces_[head.piece];
        for (std::size_t i = head.piece + 1; i <= last.piece; ++i) {
            packet.whole.iov_len += pieces_[i].iov_len;
        }
        header.msg_iov = &packet.whole;
        header.msg_iovlen = 1;
    }
    header.msg_control = packet.control.data();
    header.msg_controllen = control_size;
    cmsghdr* const part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_UDP;
    part->cmsg_type = UDP_SEGMENT;
    part->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
    const auto segment = static_cast<std::uint16_t>(head.size);
    std::memcpy(CMSG_DATA(part), &segment, sizeof segment);
}

/// Packets taken, or -1.
int SendBatch::send(int handle, std::size_t next) const {
    if (packet_count_ - next == 1) {  // cheaper, and all there is in a conversation
        return send_one(handle, messages_[next].msg_hdr) < 0 ? -1 : 1;
    }
    return ::sendmmsg(handle, const_cast<mmsghdr*>(&messages_[next]),
                      static_cast<unsigned>(packet_count_ - next), 0);
}

// Of a kernel, a device or a path that does not cut super-packets up.
bool SendBatch::refuses_segments(int error) {
    return error == EINVAL || error == EIO || error == EMSGSIZE || error == EOPNOTSUPP;
}

void SendBatch::flush(int handle, UdpCounters& counters) {
    if (count_ == 0) return;
    build(0);
    std::size_t next = 0;
    int refusals = 0;
    while (next < packet_count_) {
        const Packet& packet = packets_[next];
        const int taken = send(handle, next);
        if (taken > 0) {
            for (int i = 0; i < taken; ++i) count_sent(packets_[next++], counters);
            refusals = 0;
        } else if (errno == EAGAIN) {
            counters.send_dropped += count_ - packet.first;
            break;
        } else if (errno == ENOBUFS || errno == ENOMEM) {
            counters.send_dropped += packet.end - packet.first;
            ++next;
        } else if (errno == ECONNREFUSED && refusals < refusals_max) {
            ++counters.send_refused;
            ++refusals;
        } else if (packet.end - packet.first > 1 && refuses_segments(errno)) {
            ++counters.segments_refused;
            segments_max_ = 1;
            terms_.prefers_alike = false;
            build(packet.first);
            next = 0;
        } else {
            counters.send_failed += packet.end - packet.first;
            ++next;
        }
    }
    count_ = used_ = pieces_used_ = 0;
}

void SendBatch::count_sent(const Packet& packet, UdpCounters& counters) const {
    const std::size_t frames = packet.end - packet.first;
    counters.frames_sent += frames;
    if (frames > 1) ++counters.super_packets_sent;
    for (std::size_t i = packet.first; i < packet.end; ++i) {
        counters.bytes_sent += slots_[i].size;
        if (slots_[i].resent) ++counters.frames_resent;
    }
}

}  // namespace wireproof
