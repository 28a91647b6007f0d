// One recvmmsg per batch. The kernel's count of dropped frames comes in control data beside a
// frame, so drops show with the next frame that got through, never on their own.
#include "wireproof/wire/udp/receive_batch.hpp"

#include <cerrno>
#include <cstring>

namespace wireproof {

ReceiveBatch::ReceiveBatch(std::size_t frames, std::size_t frame_max)
    : buffers_(frames * frame_max), slots_(frames), messages_(frames) {
    for (std::size_t i = 0; i < frames; ++i) {
        slots_[i].bytes = {&buffers_[i * frame_max], frame_max};
        reset(i);
    }
}

std::optional<ReceiveBatch::Datagram> ReceiveBatch::next(int handle, UdpCounters& counters) {
    if (auto datagram = next_in_batch(counters)) return datagram;
    if (drained_) {
        drained_ = false;
        return std::nullopt;
    }
    if (!refill(handle, counters)) return std::nullopt;
    return next_in_batch(counters);
}

std::optional<ReceiveBatch::Datagram> ReceiveBatch::next_in_batch(UdpCounters& counters) {
    while (next_ < filled_) {
        const Slot& slot = slots_[next_];
        mmsghdr& message = messages_[next_++];
        count_kernel_drops(message.msg_hdr, counters);
        if ((message.msg_hdr.msg_flags & MSG_TRUNC) == 0) {
            return Datagram{
                ConstBytes(static_cast<std::byte*>(slot.bytes.iov_base), message.msg_len),
                from_socket_address(slot.from)};
        }
        ++counters.too_long;
    }
    return std::nullopt;
}

bool ReceiveBatch::refill(int handle, UdpCounters& counters) {
    for (std::size_t i = 0; i < filled_; ++i) reset(i);
    next_ = filled_ = 0;
    const int count = ::recvmmsg(handle, messages_.data(), static_cast<unsigned>(messages_.size()),
                                 MSG_DONTWAIT, nullptr);
    if (count < 0) {
        counters.receive_failed += errno == EAGAIN ? 0 : 1;
        return false;
    }
    filled_ = static_cast<std::size_t>(count);
    drained_ = filled_ < slots_.size();
    return true;
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

// Each frame carries the number dropped before it since the socket was opened, modulo 2^32.
void ReceiveBatch::count_kernel_drops(msghdr& header, UdpCounters& counters) {
    for (cmsghdr* part = CMSG_FIRSTHDR(&header); part != nullptr;
         part = CMSG_NXTHDR(&header, part)) {
        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SO_RXQ_OVFL) continue;
        std::uint32_t dropped = 0;
        std::memcpy(&dropped, CMSG_DATA(part), sizeof dropped);
        counters.kernel_dropped += dropped - kernel_dropped_;
        kernel_dropped_ = dropped;
    }
}

}  // namespace wireproof
