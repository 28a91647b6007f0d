#pragma once

#include <cstdint>

namespace wireproof::congestion {

/// Bounds of a window, in packets.
struct Limits {
    std::uint32_t start = 10;   // on a path about which nothing is known
    std::uint32_t most = 1024;  // the window never grows beyond this
};

}  // namespace wireproof::congestion
