// Packet and message sequence numbers, 24 bits on the wire. The circle is an argument, so that a
// search of a small world can use a smaller circle.
#pragma once

#include <cstdint>

#include "wireproof/base/seq_num.hpp"

namespace wireproof::proto::ib {

using Psn = SeqNum<struct PsnTag>;
using Msn = SeqNum<struct MsnTag>;

// UC-18: the number after the last one is 0.
inline constexpr Circle wire_circle{std::uint64_t{1} << 24};

/// How far `psn` is ahead of `from`: 0 if they are equal, positive if ahead, negative if behind. A
/// distance of half a circle counts as behind, so at most half a circle of PSNs may be outstanding.
template <class Tag>
constexpr std::int64_t difference(SeqNum<Tag> psn, SeqNum<Tag> from,
                                  const Circle& circle = wire_circle) {
    const std::int64_t steps = circle.steps_after(psn, from);
    const auto modulus = static_cast<std::int64_t>(circle.modulus());
    return steps < modulus / 2 ? steps : steps - modulus;
}

/// The PSN before `psn`. An acknowledgement of all packets before `psn` names it.
constexpr Psn before(Psn psn, const Circle& circle = wire_circle) {
    return circle.advance(psn, circle.modulus() - 1);
}

}  // namespace wireproof::proto::ib
