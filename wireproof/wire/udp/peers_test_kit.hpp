// What the tests of both wires name: the moment of each call, the peers of a wire, and
// how long they wait.
#pragma once

#include "wireproof/base/instant.hpp"
#include "wireproof/core/frame.hpp"

namespace wireproof::test {

inline constexpr Instant now{};
inline constexpr PeerId first{0};
inline constexpr PeerId second{1};

/// In milliseconds. It only ends a test that hangs.
inline constexpr int patience = 120'000;

}  // namespace wireproof::test
