// The send FIFO in host memory, and the packet-length array in the adapter's memory. The adapter
// goes round the array. When the slot at its place becomes nonzero, the adapter transmits that
// entry, and sets the slot to zero once it has the entry. The model computes this when the length
// is stored, because nothing can change it afterwards. So it needs no event. AM-29, AM-30, AM-31.
#pragma once

#include <cstdint>
#include <vector>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/sim/sp2/config.hpp"

namespace wireproof::sp2 {

class SendFifo {
public:
    /// A packet that leaves the node.
    struct Departure {
        ConstBytes bytes;  // in the entry; the caller copies them now
        std::uint16_t to = 0;
        bool resent = false;
        Instant leaves;  // when its first byte is on the link
    };

    explicit SendFifo(const Config& config);

    std::size_t entries() const { return slots_.size(); }

    // The host's side, in this order for every entry.
    /// The entry that is composed next.
    std::size_t next() const { return next_; }
    Bytes entry(std::size_t index) {
        return Bytes(memory_).subspan(index * entry_size, entry_size);
    }
    /// The entry is complete, but its length is not stored yet.
    void compose(std::size_t size, std::uint16_t to, bool resent);
    std::size_t composed() const { return composed_; }
    /// Stores the length of the oldest composed entry.
    Departure store_length(Instant now);

    /// What a slot of the length array reads at `now`.
    std::uint16_t length_slot(std::size_t index, Instant now) const {
        return slots_[index].taken <= now ? std::uint16_t{0} : slots_[index].length;
    }
    /// When the slot of the next entry becomes or became zero.
    Instant next_free() const { return slots_[next_].taken; }

    /// The number of entries that are composed or in transmission at `now`.
    std::size_t pending(Instant now) const;

private:
    struct Slot {
        std::uint16_t length = 0;
        Instant taken;  // the slot reads zero from then on
        std::uint16_t to = 0;
        bool resent = false;
    };

    std::size_t after(std::size_t index) const {
        return index + 1 == slots_.size() ? 0 : index + 1;
    }

    Costs costs_;
    std::vector<std::byte> memory_;
    std::vector<Slot> slots_;
    std::size_t next_ = 0;      // oldest_ + composed_, modulo the number of slots
    std::size_t oldest_ = 0;    // the oldest composed entry
    std::size_t composed_ = 0;  // entries whose length is not stored

    Instant adapter_free_;
    Instant link_free_;
    std::vector<Instant> left_;  // ends of the last adapter_packets departures, as a ring
    std::size_t departures_ = 0;
};

}  // namespace wireproof::sp2
