// One run of a small world. A number gives the fates of the first frames of each sender. The wire
// carries all later frames without fault.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "wireproof/lab/search/search_am.hpp"

namespace wireproof::tiny {

enum class Fate : std::uint8_t { delivered, lost, repeated, swapped, damaged };
inline constexpr std::uint64_t fates = 5;

/// The fates of the first frames. `digits` has one digit to the base `fates` for each of these
/// frames, in the order in which the ends send them. The first frame takes the lowest digit.
struct FateCode {
    std::array<std::uint64_t, 2> frames{};  // frames that have a digit, by sender
    std::uint64_t digits = 0;

    std::string spelled() const;
};

/// Returns the promise that was broken; empty: none.
std::string run_with_fates(const std::array<lab::AmEnd, 2>& fresh, const FateCode& code);

}  // namespace wireproof::tiny
