// What can happen in a search, and what a doubt of it found.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace wireproof::lab {

struct SearchSetting {
    static constexpr std::size_t in_flight_max = 6;

    std::size_t in_flight = 2;  // frames in flight, each way
    /// Limit of faults of the wire and of early timers; nothing: no limit.
    std::optional<std::uint32_t> faults = {};

    // The faults of the wire, and the ends whose frames they may hit.
    bool lose = true;
    bool damage = true;
    /// Frames may also be damaged only behind so many bytes, which the receiver can use alone. 0:
    /// there is no such part. The search of a link sets it if `damage` is set.
    std::size_t separate_front = 0;
    bool repeat = false;
    bool overtake = false;
    std::array<bool, 2> at_risk{true, true};

    /// Timers may expire at any moment; otherwise only if nothing else can happen.
    bool early_timers = true;
    /// A user may submit a message at any later moment; otherwise as soon as there is room.
    bool users_hesitate = false;
    /// Replays that one fault may cause. More of them break a promise.
    std::optional<std::uint32_t> replays_per_fault = {};
    /// States that differ only by a shift of labels (search_labels.hpp) are one state. Not
    /// together with a limit of replays.
    bool shift_labels = true;
    /// Keep the states that doubt() compares.
    bool doubt = false;
};

/// How a frame arrives.
enum class Arrives : std::uint8_t { intact, with_damaged_tail, damaged };

/// The setting for a line from which frames may vanish, or for one from which they may not. On the
/// latter, frames that would be lost are damaged.
constexpr SearchSetting possible(SearchSetting setting, bool may_lose) {
    if (may_lose) return setting;
    setting.damage = setting.damage || setting.lose;
    setting.lose = false;
    return setting;
}

/// The result of doubt().
struct SearchDoubts {
    std::size_t compared = 0;
    std::size_t differing = 0;  // states with equal fingerprints that act differently
    std::size_t shifts_compared = 0;
    std::size_t shifts_differing = 0;  // shifted states that act differently
};

}  // namespace wireproof::lab
