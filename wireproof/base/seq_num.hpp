// Sequence numbers that wrap. A SeqNum alone can only be compared for equality. Two numbers have an
// order only on a Circle and relative to a window. There is no operator<, so a sorted container
// does not compile.
#pragma once

#include <cstdint>

#include "wireproof/base/check.hpp"

namespace wireproof {

/// A number on some circle. Tag makes a separate type for each kind of number.
template <class Tag>
class SeqNum {
public:
    constexpr SeqNum() = default;
    constexpr explicit SeqNum(std::uint32_t value) : value_(value) {}
    constexpr std::uint32_t value() const { return value_; }
    friend constexpr bool operator==(SeqNum, SeqNum) = default;

private:
    std::uint32_t value_ = 0;
};

/// The circle of a SeqNum: its modulus is 2 to 2^32 and is chosen at run time.
class Circle {
public:
    constexpr explicit Circle(std::uint64_t modulus) : modulus_(modulus) {
        WIREPROOF_CHECK(modulus >= 2 && modulus <= (std::uint64_t{1} << 32));
    }

    constexpr std::uint64_t modulus() const { return modulus_; }

    /// Whether the value is a number of this circle. A number from the network may be too large.
    constexpr bool holds(std::uint32_t value) const { return value < modulus_; }

    template <class Tag>
    constexpr SeqNum<Tag> advance(SeqNum<Tag> from, std::uint64_t steps) const {
        std::uint64_t to = from.value() + steps;
        if (to >= modulus_) to = to < 2 * modulus_ ? to - modulus_ : to % modulus_;  // % is slow
        return SeqNum<Tag>(static_cast<std::uint32_t>(to));
    }

    /// The number of steps forward from `earlier` to `later`: 0 to modulus - 1.
    template <class Tag>
    constexpr std::uint32_t steps_after(SeqNum<Tag> later, SeqNum<Tag> earlier) const {
        const std::uint64_t from = earlier.value();
        const std::uint64_t to = later.value();
        return static_cast<std::uint32_t>(to >= from ? to - from : to + modulus_ - from);
    }

private:
    std::uint64_t modulus_;
};

}  // namespace wireproof
