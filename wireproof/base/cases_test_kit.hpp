// For tests: how many random cases a build runs.
#pragma once

#include <cstdint>

namespace wireproof {

/// Of `all` random cases of one kind, those that this build runs. Under AddressSanitizer, where a
/// case takes several times as long, it is a quarter: the other presets have judged the rest, and a
/// fault of memory shows in any of them.
constexpr std::uint64_t cases(std::uint64_t all) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
    return (all + 3) / 4;
#endif
#endif
    return all;
}

}  // namespace wireproof
