// One sendmmsg per flush, more only after an error: the kernel then tells how many frames left and
// the reason of the next one only when asked again.
#include "wireproof/wire/udp/send_batch.hpp"

#include <cerrno>

namespace wireproof {
namespace {

// A refusal is a report about an earlier frame; asking again sends this one. A few reports may have
// gathered, but a kernel that only refuses must not hold us here.
constexpr int refusals_max = 3;

}  // namespace

SendBatch::SendBatch(std::size_t frames, LaneTerms terms)
    : terms_(terms), rooms_(frames * terms.frame_max), slots_(frames), messages_(frames) {}

TxFrame* SendBatch::claim() {
    if (count_ == slots_.size()) return nullptr;
    TxFrame& frame = slots_[count_].frame;
    frame.open(Bytes(rooms_).subspan(count_ * terms_.frame_max, terms_.frame_max), terms_);
    return &frame;
}

void SendBatch::commit(const SocketAddress& to) {
    WIREPROOF_CHECK(count_ < slots_.size());
    Slot& slot = slots_[count_];
    msghdr& header = messages_[count_].msg_hdr;
    header = {};
    for (const ConstBytes piece : slot.frame.pieces()) {
        // The kernel's struct serves both directions; sending only reads.
        slot.pieces[header.msg_iovlen++] = {const_cast<std::byte*>(piece.data()), piece.size()};
    }
    slot.to = to;
    header.msg_name = &slot.to;
    header.msg_namelen = length_of(to);
    header.msg_iov = slot.pieces.data();
    ++count_;
}

void SendBatch::flush(int handle, UdpCounters& counters) {
    std::size_t next = 0;
    int refusals = 0;
    while (next < count_) {
        const std::size_t left = count_ - next;
        const int taken = ::sendmmsg(handle, &messages_[next], static_cast<unsigned>(left), 0);
        if (taken > 0) {
            count_sent(next, static_cast<std::size_t>(taken), counters);
            next += static_cast<std::size_t>(taken);
            refusals = 0;
        } else if (errno == EAGAIN) {
            counters.send_dropped += left;
            break;
        } else if (errno == ENOBUFS || errno == ENOMEM) {
            ++counters.send_dropped;
            ++next;
        } else if (errno == ECONNREFUSED && refusals < refusals_max) {
            ++counters.send_refused;
            ++refusals;
        } else {
            ++counters.send_failed;
            ++next;
        }
    }
    count_ = 0;
}

void SendBatch::count_sent(std::size_t first, std::size_t frames, UdpCounters& counters) const {
    counters.frames_sent += frames;
    for (std::size_t i = first; i < first + frames; ++i) {
        counters.bytes_sent += slots_[i].frame.size();
        if (slots_[i].frame.resent()) ++counters.frames_resent;
    }
}

}  // namespace wireproof
