#pragma once

#include <functional>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

/// Whether the ranges have a byte in common. They may be of different objects.
inline bool overlap(ConstBytes a, ConstBytes b) {
    const std::less<> before;
    return before(a.data(), b.data() + b.size()) && before(b.data(), a.data() + a.size());
}

}  // namespace wireproof
