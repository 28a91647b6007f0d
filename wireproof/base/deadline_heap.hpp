// Deadlines of many owners, so that the earliest is known at once: a binary heap which knows where
// each owner's entry stands. To change one takes steps by the logarithm of how many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof {

/// Owners are numbered from 0. All memory is taken at construction: 28 bytes an owner.
class DeadlineHeap {
public:
    explicit DeadlineHeap(std::size_t owners)
        : entries_(owners > 0 ? owners : 1), place_(owners), deadline_(owners, never) {
        WIREPROOF_CHECK(owners <= std::numeric_limits<std::uint32_t>::max());
    }

    std::size_t owners() const { return place_.size(); }
    /// Owners that have a deadline.
    std::size_t size() const { return size_; }

    /// Replaces the deadline that the owner had, if any; `never`: it has none.
    void set(std::size_t owner, Instant deadline) {
        const Instant before = deadline_[owner];
        if (deadline == before) return;
        if (deadline == never) return clear(owner);
        deadline_[owner] = deadline;
        const Entry entry{deadline, static_cast<std::uint32_t>(owner)};
        if (before == never) {
            rise(size_++, entry);
        } else if (deadline < before) {
            rise(place_[owner], entry);
        } else {
            sink(place_[owner], entry);
        }
    }
    /// The same, but an earlier deadline that the owner has stays.
    void bring_forward(std::size_t owner, Instant deadline) {
        if (deadline < deadline_[owner]) set(owner, deadline);
    }
    void clear(std::size_t owner) {
        if (deadline_[owner] == never) return;
        deadline_[owner] = never;
        const std::uint32_t place = place_[owner];
        const Entry last = std::exchange(entries_[--size_], Entry());
        if (place == size_) return;  // that was the last
        if (place > 0 && last.deadline < entries_[parent_of(place)].deadline) {
            rise(place, last);
        } else {
            sink(place, last);
        }
    }

    /// Of that owner; `never`: it has none.
    Instant of(std::size_t owner) const { return deadline_[owner]; }
    /// Of all; `never`: no owner has one.
    Instant earliest() const { return entries_[0].deadline; }
    /// Whose deadline that is; some owner has one.
    std::size_t first() const {
        WIREPROOF_CHECK(size_ > 0);
        return entries_[0].owner;
    }

private:
    struct Entry {
        Instant deadline = never;
        std::uint32_t owner = 0;
    };

    static std::uint32_t parent_of(std::uint32_t place) { return (place - 1) / 2; }
    void put(std::uint32_t place, const Entry& entry) {
        entries_[place] = entry;
        place_[entry.owner] = place;
    }
    /// The entry belongs there or nearer to the top.
    void rise(std::uint32_t place, const Entry entry) {
        while (place > 0 && entry.deadline < entries_[parent_of(place)].deadline) {
            put(place, entries_[parent_of(place)]);
            place = parent_of(place);
        }
        put(place, entry);
    }
    /// The entry belongs there or further from the top.
    void sink(std::uint32_t place, const Entry entry) {
        for (std::uint32_t child = 2 * place + 1; child < size_; child = 2 * place + 1) {
            const bool right_is_earlier =
                child + 1 < size_ && entries_[child + 1].deadline < entries_[child].deadline;
            if (right_is_earlier) ++child;
            if (!(entries_[child].deadline < entry.deadline)) break;
            put(place, entries_[child]);
            place = child;
        }
        put(place, entry);
    }

    // A heap of the first so many: no entry is earlier than its parent. The others are `never`.
    std::vector<Entry> entries_;
    std::uint32_t size_ = 0;
    std::vector<std::uint32_t> place_;  // by owner, if it has a deadline: where its entry stands
    std::vector<Instant> deadline_;     // by owner
};

}  // namespace wireproof
