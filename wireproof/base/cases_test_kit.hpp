// For tests: how many random cases a build runs.
#pragma once

#include <cstdint>

#include "wireproof/base/sanitizer_test_kit.hpp"

namespace wireproof {

/// Of `all` random cases of one kind, those that this build runs. Under AddressSanitizer, where a
/// case takes several times as long, it is a quarter: the other presets have judged the rest, and a
/// fault of memory shows in any of them.
constexpr std::uint64_t cases(std::uint64_t all) {
    return WIREPROOF_ADDRESS_SANITIZER != 0 ? (all + 3) / 4 : all;
}

}  // namespace wireproof
