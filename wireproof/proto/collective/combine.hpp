// Combines the elements of two ranks.
#pragma once

#include "wireproof/proto/collective/message.hpp"

namespace wireproof::collective {

/// Which operand of the combination is already in the memory of this rank.
enum class Mine : std::uint8_t { left, right };

/// Combines `mine` and `theirs` element by element, and writes the results to `mine`. Both have the
/// same length, a multiple of size_of(element), and any alignment. Integers wrap around. If the two
/// elements have no order (one is not a number) or are equal, min and max give the right operand.
void combine(Element element, Reduction reduction, Bytes mine, ConstBytes theirs, Mine side);

}  // namespace wireproof::collective
