// Checks every change of owner: an entry is written only while the adapter owns it, is read once,
// and is returned only after that.
#include "wireproof/sim/sp2/receive_fifo.hpp"

#include <algorithm>

namespace wireproof::sp2 {

ReceiveFifo::ReceiveFifo(std::size_t entries, std::size_t entry_bytes)
    : entry_bytes_(entry_bytes), memory_(entries * entry_bytes), entries_(entries) {}

void ReceiveFifo::deposit(ConstBytes packet, std::uint16_t from, Instant visible) {
    WIREPROOF_CHECK(!full() && packet.size() <= entry_bytes_);
    const std::size_t index = wrapped(head_ + unread_);
    Entry& entry = entries_[index];
    WIREPROOF_CHECK(entry.state == State::adapters);
    entry = {State::unread, static_cast<std::uint16_t>(packet.size()), from, visible};
    std::copy(packet.begin(), packet.end(),
              memory_.begin() + static_cast<std::ptrdiff_t>(index * entry_bytes_));
    ++unread_;
}

ReceiveFifo::Packet ReceiveFifo::read() {
    WIREPROOF_CHECK(unread_ > 0);
    Entry& entry = entries_[head_];
    WIREPROOF_CHECK(entry.state == State::unread);
    entry.state = State::read;
    const ConstBytes bytes = ConstBytes(memory_).subspan(head_ * entry_bytes_, entry.size);
    head_ = wrapped(head_ + 1);
    --unread_;
    ++read_;
    return {bytes, entry.from};
}

void ReceiveFifo::return_read() {
    for (; read_ > 0; --read_) {
        Entry& entry = entries_[first_read_];
        WIREPROOF_CHECK(entry.state == State::read);
        entry.state = State::adapters;
        first_read_ = wrapped(first_read_ + 1);
    }
}

}  // namespace wireproof::sp2
