// Some of the queue pairs of a port, by number: those that may have something to send, or those
// that have a deadline. If a port has many queue pairs, most of them are in no list and cost no
// time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wireproof/base/instant.hpp"

namespace wireproof::proto::ib {

class QueuePairList {
public:
    struct Member {
        std::uint32_t number = 0;
        Instant deadline = never;
    };

    /// Allocates the memory for this many members.
    void reserve(std::size_t members) { members_.reserve(members); }
    void put(std::uint32_t number, Instant deadline = never) {
        const auto place = find(number);
        if (place != members_.end() && place->number == number) {
            place->deadline = deadline;
        } else {
            members_.insert(place, {number, deadline});
        }
    }
    void remove(std::uint32_t number) {
        const auto place = find(number);
        if (place != members_.end() && place->number == number) members_.erase(place);
    }

    std::size_t size() const { return members_.size(); }
    /// Members are in ascending order of numbers.
    const Member& operator[](std::size_t place) const { return members_[place]; }
    /// The place of the first member with a larger number; `size()` if there is none.
    std::size_t after(std::uint32_t number) const {
        const auto place = std::upper_bound(
            members_.begin(), members_.end(), number,
            [](std::uint32_t left, const Member& right) { return left < right.number; });
        return static_cast<std::size_t>(place - members_.begin());
    }
    Instant next_deadline() const {
        Instant next = never;
        for (const Member& one : members_) next = earliest(next, one.deadline);
        return next;
    }

private:
    std::vector<Member>::iterator find(std::uint32_t number) {
        return std::lower_bound(
            members_.begin(), members_.end(), number,
            [](const Member& left, std::uint32_t right) { return left.number < right; });
    }

    std::vector<Member> members_;  // sorted
};

}  // namespace wireproof::proto::ib
