// The adapter's send side as arithmetic on instants.
#include "wireproof/sim/sp2/send_fifo.hpp"

#include <algorithm>

#include "wireproof/base/check.hpp"

namespace wireproof::sp2 {

SendFifo::SendFifo(const Config& config)
    : costs_(config.costs),
      memory_(config.send_entries * entry_size),
      slots_(config.send_entries),
      left_(config.adapter_packets) {}

void SendFifo::compose(std::size_t size, std::uint16_t to, bool resent) {
    WIREPROOF_CHECK(size >= 1 && size <= entry_size && composed_ < slots_.size());
    Slot& slot = slots_[next_];
    slot.length = static_cast<std::uint16_t>(size);
    slot.to = to;
    slot.resent = resent;
    next_ = after(next_);
    ++composed_;
}

SendFifo::Departure SendFifo::store_length(Instant now) {
    WIREPROOF_CHECK(composed_ > 0);
    const std::size_t index = oldest_;
    Slot& slot = slots_[index];
    // The adapter misses a length that is stored over one that it has not set to zero.
    WIREPROOF_CHECK(slot.taken <= now);
    oldest_ = after(oldest_);
    --composed_;

    // The adapter begins with the entry when it is done with the one before and has a place for it.
    Instant& left = left_[departures_++ % left_.size()];
    const Instant begins = std::max({now, adapter_free_, left});
    adapter_free_ = begins + costs_.send_occupancy;
    slot.taken = adapter_free_;
    const Instant leaves = std::max(begins + costs_.send_latency, link_free_);
    link_free_ = leaves + costs_.on_link(slot.length);
    left = link_free_;
    return {ConstBytes(entry(index)).first(slot.length), slot.to, slot.resent, leaves};
}

std::size_t SendFifo::pending(Instant now) const {
    const auto transmitting = std::count_if(slots_.begin(), slots_.end(),
                                            [now](const Slot& slot) { return slot.taken > now; });
    return composed_ + static_cast<std::size_t>(transmitting);
}

}  // namespace wireproof::sp2
