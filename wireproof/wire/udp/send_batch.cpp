// One system call for each flush, and more only after an error: the kernel returns how many packets
// left, and gives the reason of the next one only in the next call.
#include "wireproof/wire/udp/send_batch.hpp"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace wireproof {
namespace {

// A refusal is a report about an earlier frame; a second call sends this one. Several reports may
// wait, but the loop must end even if the kernel always refuses.
constexpr int refusals_max = 3;

// Bytes of the longest super-packet. It fits into one datagram over IPv4 and over IPv6.
constexpr std::size_t super_packet_max = 65'000;

// The room for one frame. If frames write more, the batch is full sooner.
constexpr std::size_t usual_room = 2048;

std::size_t room_of_one(const LaneCapabilities& capabilities) {
    return std::min(capabilities.frame_max, usual_room);
}

constexpr std::size_t kernel_pieces_max = 1024;

constexpr const char* send_call = "sendmsg";  // in reports, for all calls of its family

bool follows(const iovec& before, const std::byte* next) {
    return static_cast<std::byte*>(before.iov_base) + before.iov_len == next;
}

/// Control data for the kernel, one part after the other.
class Control {
public:
    explicit Control(std::span<std::byte> room) : room_(room) {}

    template <class T>
    void add(int level, int type, const T& value) {
        WIREPROOF_CHECK(CMSG_SPACE(sizeof value) <= room_.size() - size_);
        auto* const part = reinterpret_cast<cmsghdr*>(room_.data() + size_);
        part->cmsg_level = level;
        part->cmsg_type = type;
        part->cmsg_len = CMSG_LEN(sizeof value);
        std::memcpy(CMSG_DATA(part), &value, sizeof value);
        size_ += CMSG_SPACE(sizeof value);
    }
    std::size_t size() const { return size_; }

private:
    std::span<std::byte> room_;
    std::size_t size_ = 0;
};

void add_source(Control& control, const Address& from) {
    if (from.family == Address::Family::ipv4) {
        in_pktinfo source{};
        std::memcpy(&source.ipi_spec_dst, from.host.data(), sizeof source.ipi_spec_dst);
        control.add(IPPROTO_IP, IP_PKTINFO, source);
    } else {
        in6_pktinfo source{};
        std::memcpy(&source.ipi6_addr, from.host.data(), sizeof source.ipi6_addr);
        source.ipi6_ifindex = from.scope;
        control.add(IPPROTO_IPV6, IPV6_PKTINFO, source);
    }
}

// For one piece without control data, sendto() spares the kernel the reading of a msghdr: 0.15 us
// of 3.4 us for a datagram of 112 bytes there and back.
ssize_t send_one(int handle, const msghdr& header) {
    if (header.msg_iovlen != 1 || header.msg_controllen > 0) return ::sendmsg(handle, &header, 0);
    return ::sendto(handle, header.msg_iov->iov_base, header.msg_iov->iov_len, 0,
                    static_cast<const sockaddr*>(header.msg_name), header.msg_namelen);
}

}  // namespace

SendBatch::SendBatch(const Config& config)
    : frames_(config.frames),
      capabilities_(config.capabilities),
      segments_max_(config.segments_max),
      leave_alone_(config.leave_alone),
      lent_(frames_.first),
      room_(frames_.most * room_of_one(capabilities_) + capabilities_.frame_max),
      pieces_(frames_.most * TxFrame::pieces_max),
      packets_(frames_.most),
      messages_(frames_.most) {
    capabilities_.copied_max = segments_max_ > 1 ? config.copied_max : 0;
    capabilities_.prefers_equal_sizes =
        segments_max_ > 1 && 2 * capabilities_.frame_max <= super_packet_max;
}

std::size_t SendBatch::room_left() const {
    return lent_ * room_of_one(capabilities_) + capabilities_.frame_max - used_;
}

TxFrame* SendBatch::claim(std::size_t peer) {
    if (frames_left() == 0 || room_left() < capabilities_.frame_max) {
        filled_ = true;
        return nullptr;
    }
    frame_.open(Bytes(room_).subspan(used_, capabilities_.frame_max), capabilities(peer));
    return &frame_;
}

void SendBatch::commit(std::size_t peer, const Route& route) {
    WIREPROOF_CHECK(count_ < lent_);
    Packet& packet = packet_for(frame_.size(), peer, route);
    if (frame_.resent()) ++packet.resent;
    ++packet.frames;
    packet.ended = frame_.size() < packet.size;
    for (const ConstBytes piece : frame_.pieces()) add_piece(packet, piece);
    ++count_;
    used_ += frame_.room_used();
}

void SendBatch::copy_payload() {
    const std::size_t size = frame_.gather_in_place().size();
    const bool resent = frame_.resent();
    frame_.open(Bytes(room_).subspan(used_, capabilities_.frame_max), capabilities_);
    frame_.add_all(size);
    if (resent) frame_.mark_resent();
}

FrameRun SendBatch::claim_run(std::size_t size, std::size_t most) {
    const std::size_t left = room_left();
    if (size == 0 || size > capabilities_.copied_max || left < capabilities_.frame_max) return {};
    const std::size_t frames = std::min({most, frames_left(), left / size});
    if (frames < 2) return {};
    return {Bytes(room_).subspan(used_, frames * size), frames, size,
            !capabilities_.carries_intact};
}

void SendBatch::commit_run(const FrameRun& run, std::size_t peer, const Route& route) {
    WIREPROOF_CHECK(run.frames <= frames_left());
    for (std::size_t done = 0; done < run.frames;) {
        Packet& packet = packet_for(run.size, peer, route);
        const std::size_t frames = std::min(run.frames - done, fitting(packet, run.size));
        add_piece(packet, run.room.subspan(done * run.size, frames * run.size));
        packet.frames += frames;
        packet.ended = run.size < packet.size;
        done += frames;
    }
    count_ += run.frames;
    used_ += run.room.size();
}

/// How many more frames of this size the packet may have.
std::size_t SendBatch::fitting(const Packet& packet, std::size_t size) const {
    const std::size_t segments_max = is_refused(packet.peer) ? 1 : segments_max_;
    if (size == 0 || packet.frames >= segments_max) return 0;
    const std::size_t left = super_packet_max - std::min(packet.bytes, super_packet_max);
    const std::size_t most = std::min(segments_max - packet.frames, left / size);
    return size < packet.size ? std::min<std::size_t>(most, 1) : most;
}

bool SendBatch::joins_last(std::size_t size, std::size_t peer) const {
    if (packet_count_ == 0) return false;
    const Packet& last = packets_[packet_count_ - 1];
    return last.peer == peer && !last.ended && size <= last.size &&
           last.pieces + TxFrame::pieces_max <= kernel_pieces_max && fitting(last, size) > 0;
}

std::size_t SendBatch::place_of(std::size_t size, std::size_t peer) const {
    return joins_last(size, peer) ? packets_[packet_count_ - 1].frames : 0;
}

void SendBatch::end_super_packet() {
    if (packet_count_ > 0) packets_[packet_count_ - 1].ended = true;
}

/// The packet that the next frame belongs to: the last one, or a new one.
SendBatch::Packet& SendBatch::packet_for(std::size_t size, std::size_t peer, const Route& route) {
    if (joins_last(size, peer)) return packets_[packet_count_ - 1];
    Packet& next = packets_[packet_count_++];
    next.peer = peer;
    next.route = &route;
    next.frames = next.resent = next.bytes = next.pieces = 0;
    next.size = size;
    next.piece = pieces_used_;
    next.ended = false;
    return next;
}

/// A piece that directly follows the piece before in memory becomes a part of it.
void SendBatch::add_piece(Packet& packet, ConstBytes bytes) {
    packet.bytes += bytes.size();
    if (packet.pieces > 0 && follows(pieces_[pieces_used_ - 1], bytes.data())) {
        pieces_[pieces_used_ - 1].iov_len += bytes.size();
        return;
    }
    // The kernel uses this struct for both directions; sending only reads.
    pieces_[pieces_used_++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
    ++packet.pieces;
}

/// Splits the packets from index `from` on into one packet for each frame. Then it is not known
/// which frames are retransmissions, only how many.
void SendBatch::take_apart(std::size_t from) {
    const std::vector<Packet> whole(packets_.begin() + static_cast<std::ptrdiff_t>(from),
                                    packets_.begin() + static_cast<std::ptrdiff_t>(packet_count_));
    const std::vector<iovec> pieces(pieces_.begin() + static_cast<std::ptrdiff_t>(whole[0].piece),
                                    pieces_.begin() + static_cast<std::ptrdiff_t>(pieces_used_));
    pieces_used_ = whole[0].piece;
    packet_count_ = from;
    std::size_t piece = 0;
    std::size_t done = 0;  // bytes of that piece
    for (const Packet& packet : whole) {
        std::size_t left = packet.bytes;
        for (std::size_t i = 0; i < packet.frames; ++i) {
            const std::size_t size = std::min(packet.size, left);
            end_super_packet();
            Packet& single = packet_for(size, packet.peer, *packet.route);
            single.frames = 1;
            single.resent = i < packet.resent ? 1 : 0;
            while (single.bytes < size) {
                const iovec& at = pieces[piece];
                const std::size_t part = std::min(size - single.bytes, at.iov_len - done);
                add_piece(single, {static_cast<std::byte*>(at.iov_base) + done, part});
                done += part;
                if (done < at.iov_len) continue;
                ++piece;
                done = 0;
            }
            if (packet.frames > 1) leave_alone(single, i);
            left -= size;
        }
    }
}

// The bytes that depend on the place are in the batch's own room, in one piece.
void SendBatch::leave_alone(const Packet& single, std::size_t place) {
    if (leave_alone_ == nullptr) return;
    constexpr std::size_t last = 4;
    const iovec& end = pieces_[single.piece + single.pieces - 1];
    WIREPROOF_CHECK(end.iov_len >= last);
    std::byte* const begin = static_cast<std::byte*>(end.iov_base) + end.iov_len - last;
    leave_alone_(std::span<std::byte, last>(begin, last), place, single.bytes);
}

void SendBatch::describe_from(std::size_t packet) {
    for (; packet < packet_count_; ++packet) describe(packets_[packet], messages_[packet]);
}

void SendBatch::describe(Packet& packet, mmsghdr& message) {
    msghdr& header = message.msg_hdr;
    header = {};
    const Route& route = *packet.route;
    if (!route.connected) {
        header.msg_name = const_cast<SocketAddress*>(&route.to);
        header.msg_namelen = length_of(route.to);
    }
    header.msg_iov = pieces_.data() + packet.piece;
    header.msg_iovlen = packet.pieces;
    Control control(packet.control);
    if (packet.frames > 1) {
        control.add(SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(packet.size));
    }
    if (!route.connected && route.from.is_set()) add_source(control, route.from);
    if (control.size() == 0) return;
    header.msg_control = packet.control.data();
    header.msg_controllen = control.size();
}

/// Returns the number of packets that the kernel took, or -1.
int SendBatch::send(int handle, std::size_t next) const {
    if (packet_count_ - next == 1) {  // cheaper, and the usual case in a conversation
        return send_one(handle, messages_[next].msg_hdr) < 0 ? -1 : 1;
    }
    return ::sendmmsg(handle, const_cast<mmsghdr*>(&messages_[next]),
                      static_cast<unsigned>(packet_count_ - next), 0);
}

// The errors of a kernel, a device or a path that does not cut super-packets up. They do not tell
// which of the three it is.
bool SendBatch::refuses_segments(int error) {
    return error == EINVAL || error == EIO || error == EMSGSIZE || error == EOPNOTSUPP;
}

void SendBatch::note_refusal(std::size_t peer) {
    if (peer >= refused_.size()) refused_.resize(peer + 1);
    refused_[peer] = true;
}

void SendBatch::flush(int handle, UdpCounters& counters, KernelErrors& errors) {
    if (count_ == 0) return;
    describe_from(0);
    std::size_t next = 0;
    int refusals = 0;
    while (next < packet_count_) {
        const Packet& packet = packets_[next];
        const int taken = send(handle, next);
        if (taken > 0) {
            for (int i = 0; i < taken; ++i) count_sent(packets_[next++], counters);
            refusals = 0;
            continue;
        }
        const int error = errno;
        if (error == EAGAIN) {
            while (next < packet_count_) counters.send_dropped += packets_[next++].frames;
        } else if (error == ENOBUFS || error == ENOMEM) {
            counters.send_dropped += packet.frames;
            errors.note(packet.peer, error, send_call, packet.frames);
            ++next;
        } else if (error == ECONNREFUSED && refusals < refusals_max) {
            ++counters.send_refused;
            errors.note(packet.peer, error, send_call, 0);
            ++refusals;
        } else if (packet.frames > 1 && refuses_segments(error)) {
            ++counters.segments_refused;
            note_refusal(packet.peer);
            take_apart(next);
            describe_from(next);
        } else if (packet.frames > 1 && error == EFAULT) {
            take_apart(next);  // the payload of one frame is gone; the others can leave
            describe_from(next);
        } else {
            counters.send_failed += packet.frames;
            counters.send_errors.add(error, packet.frames);
            errors.note(packet.peer, error, send_call, packet.frames);
            ++next;
        }
    }
    lent_ = std::exchange(filled_, false) ? std::min(2 * lent_, frames_.most) : frames_.first;
    count_ = used_ = pieces_used_ = packet_count_ = 0;
}

void SendBatch::count_sent(const Packet& packet, UdpCounters& counters) {
    counters.frames_sent += packet.frames;
    if (packet.frames > 1) ++counters.super_packets_sent;
    counters.bytes_sent += packet.bytes;
    counters.frames_resent += packet.resent;
}

}  // namespace wireproof
