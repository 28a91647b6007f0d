// What the tests of both wires name: the moment of each call, and the peers of a wire.
#pragma once

#include "wireproof/core/frame.hpp"

namespace wireproof::test {

inline constexpr Instant now{};
inline constexpr PeerId first{0};
inline constexpr PeerId second{1};

}  // namespace wireproof::test
