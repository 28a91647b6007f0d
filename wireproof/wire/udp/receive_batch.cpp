// The kernel reports its count of dropped datagrams in the control data of a received datagram. So
// the wire learns of drops only with the next datagram that arrives.
#include "wireproof/wire/udp/receive_batch.hpp"

#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "wireproof/wire/udp/ip_bytes.hpp"

namespace wireproof {
namespace {

constexpr std::size_t super_packet_room = 65'536;
// With more datagrams in one turn, the acknowledgements would leave too late and the peer would
// wait. Also, the bytes would not stay in the cache until the engine reads them.
constexpr std::size_t grouped_datagrams_max = 4;
// After this many calls in a row that received something, the batch asks for many datagrams at
// once. While both ends only take turns, a call for one datagram is cheaper.
constexpr std::size_t single_looks = 3;

}  // namespace

void ReceiveBatch::count_failure(UdpCounters& counters) {
    if (errno == EAGAIN) return;
    error_ = errno;
    if (errno == ECONNREFUSED) {
        ++counters.send_refused;  // of a connected socket: a report about a frame sent earlier
    } else {
        ++counters.receive_failed;
    }
}

ReceiveBatch::ReceiveBatch(const Config& config)
    : frame_max_(config.frame_max),
      buffer_size_(config.grouped ? super_packet_room : config.frame_max),
      reads_marks_(config.reads_marks),
      buffers_(
          (config.grouped ? std::min(config.datagrams, grouped_datagrams_max) : config.datagrams) *
          buffer_size_),
      slots_(buffers_.size() / buffer_size_),
      messages_(slots_.size()) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        slots_[i].bytes = {&buffers_[i * buffer_size_], buffer_size_};
        reset(i);
    }
}

std::optional<ReceiveBatch::Frame> ReceiveBatch::next(int handle, UdpCounters& counters) {
    asked_ = false;
    if (auto frame = next_here(counters)) return frame;
    if (drained_) {
        drained_ = false;
        return std::nullopt;
    }
    asked_ = true;
    if (!refill(handle, counters)) return std::nullopt;
    auto frame = next_here(counters);
    if (!frame) drained_ = false;
    return frame;
}

std::optional<ReceiveBatch::Frame> ReceiveBatch::next_here(UdpCounters& counters) {
    while (more_ || open_next(counters)) {
        const std::size_t size = std::min(segment_, rest_.size() - at_);
        const ConstBytes bytes = rest_.subspan(at_, size);
        at_ += size;
        more_ = at_ < rest_.size();
        const std::size_t place = place_++;
        if (size <= frame_max_)
            return Frame{
                bytes, &from_, to_.is_set() ? &to_ : nullptr, std::exchange(begins_, false),
                place, marked_};
        ++counters.too_long;
    }
    return std::nullopt;
}

RxRun ReceiveBatch::following() const {
    if (!more_ || begins_ || marked_ || segment_ > frame_max_) return {};
    const std::size_t frames = (rest_.size() - at_) / segment_;
    return {rest_.data() + at_, static_cast<std::uint32_t>(frames),
            static_cast<std::uint32_t>(segment_)};
}

std::size_t ReceiveBatch::take_following(std::size_t frames) {
    const std::size_t bytes = frames * segment_;
    WIREPROOF_CHECK(bytes <= rest_.size() - at_);
    at_ += bytes;
    place_ += frames;
    more_ = at_ < rest_.size();
    return bytes;
}

/// Starts with the frames of the next datagram. False: there is none here.
bool ReceiveBatch::open_next(UdpCounters& counters) {
    while (next_ < filled_) {
        const Slot& slot = slots_[next_];
        mmsghdr& message = messages_[next_++];
        read_control(message.msg_hdr, counters);
        if ((message.msg_hdr.msg_flags & MSG_TRUNC) != 0) {
            ++counters.too_long;
            continue;
        }
        rest_ = ConstBytes(static_cast<std::byte*>(slot.bytes.iov_base), message.msg_len);
        at_ = place_ = 0;
        if (segment_ > 0 && rest_.size() > segment_) {
            ++counters.super_packets_received;
            lone_ = 0;
        }
        if (segment_ == 0) segment_ = std::max<std::size_t>(rest_.size(), 1);
        from_ = from_socket_address(slot.from);
        begins_ = true;
        more_ = true;  // an empty datagram is a frame of no bytes
        return true;
    }
    return false;
}

bool ReceiveBatch::refill(int handle, UdpCounters& counters) {
    for (std::size_t i = 0; i < filled_; ++i) reset(i);
    next_ = filled_ = 0;
    choose_way(handle, counters);
    if (bare_) return look_bare(handle, counters);
    const std::size_t wanted = in_a_row_ < single_looks ? 1 : slots_.size();
    filled_ = ask(handle, wanted, counters);
    emptied_ = filled_ > 0 ? filled_ < wanted : errno == EAGAIN;
    if (filled_ > 0) lone_ = filled_ == 1 && in_a_row_ == 0 ? lone_ + 1 : 0;
    in_a_row_ = filled_ == 0 ? 0 : wanted > 1 && filled_ < 2 ? single_looks / 2 : in_a_row_ + 1;
    if (filled_ == 0) return false;
    drained_ = wanted == 1 || filled_ < slots_.size();
    return true;
}

void ReceiveBatch::choose_way(int handle, UdpCounters& counters) {
    // Bare calls do not report truncation, so the buffer must be longer than frame_max: then a
    // frame that is too long shows its length.
    const bool may_converse = only_.is_set() && buffer_size_ > frame_max_;
    if (!bare_) {
        const bool converses = may_converse && in_a_row_ == 0 && lone_ >= lone_wanted_;
        if (converses) bare_ = begin_bare(handle, counters);
    } else if (!may_converse || lone_ == 0) {
        describe_received(handle, true);
        bare_ = false;
        lone_wanted_ = std::min(lone_wanted_ * 2, lone_most);
    }
}

// False if a datagram waits already: it may be a super-packet, and the kernel would not report
// that.
bool ReceiveBatch::begin_bare(int handle, UdpCounters& counters) {
    if (describe_received(handle, false)) {
        std::byte first{};
        const bool waits = ::recv(handle, &first, sizeof first, MSG_PEEK | MSG_DONTWAIT) >= 0;
        if (!waits && errno == EAGAIN) return true;
        if (!waits) count_failure(counters);
    }
    describe_received(handle, true);
    return false;
}

// Several successful calls in a row may each receive the answer of a peer that answers at once. A
// second call in the same turn decides: if it receives one more, the conversation has ended.
bool ReceiveBatch::look_bare(int handle, UdpCounters& counters) {
    const ssize_t bytes = receive_bare(handle, counters);
    emptied_ = bytes < 0 && errno == EAGAIN;
    if (bytes < 0) {
        count_failure(counters);
        in_a_row_ = 0;
        return false;
    }
    if (++in_a_row_ > single_looks) lone_ = 0;
    drained_ = in_a_row_ != single_looks;
    rest_ = ConstBytes(buffers_).first(static_cast<std::size_t>(bytes));
    at_ = place_ = 0;
    segment_ = std::max<std::size_t>(rest_.size(), 1);
    from_ = only_;
    begins_ = more_ = true;
    return true;
}

ssize_t ReceiveBatch::receive_bare(int handle, UdpCounters& counters) {
    if (!reads_marks_) return ::recv(handle, buffers_.data(), buffer_size_, MSG_DONTWAIT);
    reset(0);
    msghdr& header = messages_[0].msg_hdr;
    header.msg_name = nullptr;
    header.msg_namelen = 0;
    const ssize_t bytes = ::recvmsg(handle, &header, MSG_DONTWAIT);
    if (bytes >= 0) read_control(header, counters);
    reset(0);
    return bytes;
}

/// Returns the number of received datagrams.
std::size_t ReceiveBatch::ask(int handle, std::size_t datagrams, UdpCounters& counters) {
    if (datagrams == 1) {
        const ssize_t bytes = ::recvmsg(handle, &messages_[0].msg_hdr, MSG_DONTWAIT);
        if (bytes >= 0) {
            messages_[0].msg_len = static_cast<unsigned>(bytes);
            return 1;
        }
    } else {
        const int count = ::recvmmsg(handle, messages_.data(), static_cast<unsigned>(datagrams),
                                     MSG_DONTWAIT, nullptr);
        if (count >= 0) return static_cast<std::size_t>(count);
    }
    count_failure(counters);
    return 0;
}

// The kernel writes lengths and flags into the headers it fills.
void ReceiveBatch::reset(std::size_t i) {
    msghdr& header = messages_[i].msg_hdr;
    header = {};
    header.msg_name = &slots_[i].from;
    header.msg_namelen = sizeof slots_[i].from;
    header.msg_iov = &slots_[i].bytes;
    header.msg_iovlen = 1;
    header.msg_control = slots_[i].control.data();
    header.msg_controllen = control_size;
}

/// Reads the length of the frames in a super-packet, 0 if the datagram is none, and its mark: the
/// kernel joins only packets whose ECN fields are equal. Each datagram carries the number of
/// datagrams dropped before it since the socket was opened, modulo 2^32.
void ReceiveBatch::read_control(msghdr& header, UdpCounters& counters) {
    segment_ = 0;
    marked_ = false;
    to_ = {};
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
         part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SO_RXQ_OVFL) {
            std::uint32_t dropped = 0;
            std::memcpy(&dropped, CMSG_DATA(part), sizeof dropped);
            counters.kernel_dropped += dropped - kernel_dropped_;
            kernel_dropped_ = dropped;
        } else if (part->cmsg_level == SOL_UDP && part->cmsg_type == UDP_GRO) {
            int size = 0;
            std::memcpy(&size, CMSG_DATA(part), sizeof size);
            segment_ = size > 0 ? static_cast<std::size_t>(size) : 0;
        } else if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_TOS) {
            marked_ = is_marked(*CMSG_DATA(part));
        } else if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_TCLASS) {
            int field = 0;
            std::memcpy(&field, CMSG_DATA(part), sizeof field);
            marked_ = is_marked(field);
        } else if (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_PKTINFO) {
            in_pktinfo arrived{};
            std::memcpy(&arrived, CMSG_DATA(part), sizeof arrived);
            to_.family = Address::Family::ipv4;
            std::memcpy(to_.host.data(), &arrived.ipi_spec_dst, sizeof arrived.ipi_spec_dst);
        } else if (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_PKTINFO) {
            in6_pktinfo arrived{};
            std::memcpy(&arrived, CMSG_DATA(part), sizeof arrived);
            to_.family = Address::Family::ipv6;
            std::memcpy(to_.host.data(), &arrived.ipi6_addr, sizeof arrived.ipi6_addr);
            if (IN6_IS_ADDR_LINKLOCAL(&arrived.ipi6_addr)) to_.scope = arrived.ipi6_ifindex;
        }
    }
}

}  // namespace wireproof
