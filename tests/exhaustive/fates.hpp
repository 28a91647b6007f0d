// One run of a small world in which the first frames each way meet the fates that a number spells,
// and all later ones a perfect wire.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "wireproof/lab/search/search_am.hpp"

namespace wireproof::tiny {

enum class Fate : std::uint8_t { delivered, lost, repeated, swapped, damaged };
inline constexpr std::uint64_t fates = 5;

/// A digit to the base of `fates` a frame, in the order in which frames of fate leave.
struct FateCode {
    std::array<std::uint64_t, 2> frames{};  // whose fate it says, by sender
    std::uint64_t digits = 0;

    std::string spelled() const;
};

/// The promise that was broken; empty: none.
std::string run_with_fates(const std::array<lab::AmEnd, 2>& fresh, const FateCode& code);

}  // namespace wireproof::tiny
