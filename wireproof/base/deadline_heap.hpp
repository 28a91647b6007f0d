// Holds the deadlines of many owners and returns the earliest one at once. It is a binary heap that
// knows the place of each owner's entry. A change takes a number of steps that is the logarithm of
// the number of owners.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof {

/// Owners have numbers from 0. All memory is allocated at construction and by grow(): 28 bytes per
/// owner. Each look at the deadline of another owner is one call of `Before`, so a test can count
/// them.
template <class Before>
class BasicDeadlineHeap {
public:
    explicit BasicDeadlineHeap(std::size_t owners) { grow(owners); }

    /// There are at least so many owners from now on. Those that are new have no deadline.
    void grow(std::size_t owners) {
        WIREPROOF_CHECK(owners <= std::numeric_limits<std::uint32_t>::max());
        if (entries_.empty()) entries_.resize(1);
        if (owners <= place_.size()) return;
        entries_.resize(owners);
        deadline_.resize(owners, never);
        place_.resize(owners);  // last: it says how many there are
    }

    std::size_t owners() const { return place_.size(); }
    /// The number of owners that have a deadline.
    std::size_t size() const { return size_; }

    /// Replaces the owner's deadline. `never` removes it.
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
    /// The same, but keeps the owner's present deadline if that is earlier.
    void bring_forward(std::size_t owner, Instant deadline) {
        if (deadline < deadline_[owner]) set(owner, deadline);
    }
    void clear(std::size_t owner) {
        if (deadline_[owner] == never) return;
        deadline_[owner] = never;
        const std::uint32_t place = place_[owner];
        const Entry last = std::exchange(entries_[--size_], Entry());
        if (place == size_) return;  // it was the last entry
        if (place > 0 && Before()(last.deadline, entries_[parent_of(place)].deadline)) {
            rise(place, last);
        } else {
            sink(place, last);
        }
    }

    /// The deadline of this owner; `never` if it has none.
    Instant of(std::size_t owner) const { return deadline_[owner]; }
    /// The earliest deadline; `never` if no owner has one.
    Instant earliest() const { return entries_[0].deadline; }
    /// Calls `use` with each owner whose deadline is not after `now`, in no particular order. Looks
    /// at these and at most two others for each.
    template <class Use>
    void for_each_due(Instant now, Use&& use) const {
        visit_due(0, now, use);
    }
    /// The owner of the earliest deadline. At least one owner must have a deadline.
    std::size_t first() const {
        WIREPROOF_CHECK(size_ > 0);
        return entries_[0].owner;
    }

private:
    struct Entry {
        Instant deadline = never;
        std::uint32_t owner = 0;
    };

    template <class Use>
    void visit_due(std::uint32_t place, Instant now, Use& use) const {
        if (place >= size_ || Before()(now, entries_[place].deadline)) return;
        use(entries_[place].owner);
        visit_due(2 * place + 1, now, use);
        visit_due(2 * place + 2, now, use);
    }
    static std::uint32_t parent_of(std::uint32_t place) { return (place - 1) / 2; }
    void put(std::uint32_t place, const Entry& entry) {
        entries_[place] = entry;
        place_[entry.owner] = place;
    }
    /// Puts the entry at `place` or nearer to the top.
    void rise(std::uint32_t place, const Entry entry) {
        while (place > 0 && Before()(entry.deadline, entries_[parent_of(place)].deadline)) {
            put(place, entries_[parent_of(place)]);
            place = parent_of(place);
        }
        put(place, entry);
    }
    /// Puts the entry at `place` or further from the top.
    void sink(std::uint32_t place, const Entry entry) {
        for (std::uint32_t child = 2 * place + 1; child < size_; child = 2 * place + 1) {
            const bool right_is_earlier =
                child + 1 < size_ &&
                Before()(entries_[child + 1].deadline, entries_[child].deadline);
            if (right_is_earlier) ++child;
            if (!Before()(entries_[child].deadline, entry.deadline)) break;
            put(place, entries_[child]);
            place = child;
        }
        put(place, entry);
    }

    // The first size_ entries are the heap: no entry is earlier than its parent. The others are
    // `never`.
    std::vector<Entry> entries_;
    std::uint32_t size_ = 0;
    std::vector<std::uint32_t> place_;  // by owner: the place of its entry, if it has a deadline
    std::vector<Instant> deadline_;     // by owner
};

using DeadlineHeap = BasicDeadlineHeap<std::less<>>;

}  // namespace wireproof
