#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"

namespace wireproof::congestion {

/// Bounds of a window, in packets.
struct Limits {
    std::uint32_t start = 10;   // on a path about which nothing is known
    std::uint32_t most = 1024;  // the window never grows beyond this
};

/// Before the first round trip is measured, a silence shorter than this may only mean a long path.
inline constexpr Duration first_timeout = Duration::milliseconds(200);

}  // namespace wireproof::congestion
