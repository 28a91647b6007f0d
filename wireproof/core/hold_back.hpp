// Frames that later frames overtake. A simulated cable and a live wire both reorder frames in this
// way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof {

/// Holds each item until `behind` later items have passed it, or until its deadline if fewer come.
template <class T>
class HoldBack {
public:
    /// `behind` is 1 or more.
    void hold(T item, std::uint32_t behind, Instant deadline) {
        WIREPROOF_CHECK(behind > 0);
        held_.push_back({std::move(item), behind, deadline});
    }

    /// One more item has passed the held items. Releases those that enough items have passed,
    /// oldest first.
    template <class Release>
    void pass(Release&& release) {
        for (Held& held : held_) --held.behind;
        take([](const Held& held) { return held.behind == 0; }, release);
    }

    template <class Release>
    void expire(Instant now, Release&& release) {
        take([now](const Held& held) { return held.deadline <= now; }, release);
    }

    Instant next_deadline() const {
        Instant earliest = never;
        for (const Held& held : held_) earliest = std::min(earliest, held.deadline);
        return earliest;
    }

    bool empty() const { return held_.empty(); }
    std::size_t size() const { return held_.size(); }

private:
    struct Held {
        T item;
        std::uint32_t behind;
        Instant deadline;
    };

    template <class Which, class Release>
    void take(Which&& which, Release& release) {
        if (held_.empty()) return;
        for (Held& held : held_) {
            if (which(held)) release(std::move(held.item));
        }
        std::erase_if(held_, which);
    }

    std::vector<Held> held_;
};

}  // namespace wireproof
