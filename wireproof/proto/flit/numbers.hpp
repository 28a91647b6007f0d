// Flit sequence numbers. On the wire they are 1 to the modulus, because 0 means "no number": the
// successor of 1023 is 1.
#pragma once

#include <optional>

#include "wireproof/base/seq_num.hpp"

namespace wireproof::flit {

using FlitNumber = SeqNum<struct FlitTag>;

class Numbers {
public:
    explicit constexpr Numbers(std::uint32_t modulus)
        : circle_(modulus), half_((modulus - 1) / 2) {}

    /// Nothing: it is not a number of this link.
    constexpr std::optional<FlitNumber> from_wire(std::uint32_t wire) const {
        if (wire == 0 || wire > circle_.modulus()) return std::nullopt;
        return FlitNumber(wire - 1);
    }
    static constexpr std::uint32_t wire(FlitNumber number) { return number.value() + 1; }

    constexpr FlitNumber plus(FlitNumber number, std::uint64_t steps) const {
        return circle_.advance(number, steps);
    }
    constexpr FlitNumber next(FlitNumber number) const { return circle_.advance(number, 1); }
    constexpr FlitNumber before(FlitNumber number) const {
        return circle_.advance(number, circle_.modulus() - 1);
    }
    /// Steps forward from `earlier` to `later`, 0 to modulus - 1.
    constexpr std::uint32_t steps(FlitNumber later, FlitNumber earlier) const {
        return circle_.steps_after(later, earlier);
    }
    /// The most numbers that may be unacknowledged: 511 of 1023.
    constexpr std::uint32_t half() const { return half_; }

private:
    Circle circle_;
    std::uint32_t half_;
};

}  // namespace wireproof::flit
