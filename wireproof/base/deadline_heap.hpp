// Deadlines of many owners, so that the earliest is known at once: a binary heap which knows where
// each owner's entry stands. To change one takes steps by the logarithm of how many there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof {

/// Owners are numbered from 0. All memory is taken at construction: 20 bytes an owner.
class DeadlineHeap {
public:
    explicit DeadlineHeap(std::size_t owners) : place_(owners, nowhere) {
        WIREPROOF_CHECK(owners < nowhere);
        entries_.reserve(owners);
    }

    std::size_t owners() const { return place_.size(); }
    /// Owners that have a deadline.
    std::size_t size() const { return entries_.size(); }

    /// Replaces the deadline that the owner had, if any; `never`: it has none.
    void set(std::size_t owner, Instant deadline) {
        if (deadline == never) return clear(owner);
        std::uint32_t place = place_[owner];
        if (place == nowhere) {
            place = static_cast<std::uint32_t>(entries_.size());
            entries_.push_back({deadline, static_cast<std::uint32_t>(owner)});
            return rise(place, entries_.back());
        }
        const Entry entry{deadline, static_cast<std::uint32_t>(owner)};
        if (deadline < entries_[place].deadline) {
            rise(place, entry);
        } else if (entries_[place].deadline < deadline) {
            sink(place, entry);
        }
    }
    /// The same, but an earlier deadline that the owner has stays.
    void bring_forward(std::size_t owner, Instant deadline) {
        if (deadline < of(owner)) set(owner, deadline);
    }
    void clear(std::size_t owner) {
        const std::uint32_t place = place_[owner];
        if (place == nowhere) return;
        place_[owner] = nowhere;
        const Entry last = entries_.back();
        entries_.pop_back();
        if (place == entries_.size()) return;  // that was the last
        if (place > 0 && last.deadline < entries_[parent_of(place)].deadline) {
            rise(place, last);
        } else {
            sink(place, last);
        }
    }

    /// Of that owner; `never`: it has none.
    Instant of(std::size_t owner) const {
        return place_[owner] == nowhere ? never : entries_[place_[owner]].deadline;
    }
    /// Of all; `never`: no owner has one.
    Instant earliest() const { return entries_.empty() ? never : entries_.front().deadline; }
    /// Whose deadline that is; some owner has one.
    std::size_t first() const {
        WIREPROOF_CHECK(!entries_.empty());
        return entries_.front().owner;
    }

private:
    struct Entry {
        Instant deadline;
        std::uint32_t owner = 0;
    };
    static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

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
        const auto size = static_cast<std::uint32_t>(entries_.size());
        for (std::uint32_t child = 2 * place + 1; child < size; child = 2 * place + 1) {
            const bool right_is_earlier =
                child + 1 < size && entries_[child + 1].deadline < entries_[child].deadline;
            if (right_is_earlier) ++child;
            if (!(entries_[child].deadline < entry.deadline)) break;
            put(place, entries_[child]);
            place = child;
        }
        put(place, entry);
    }

    std::vector<Entry> entries_;        // a heap: no entry is earlier than its parent
    std::vector<std::uint32_t> place_;  // by owner: where its entry stands
};

}  // namespace wireproof
