#include "wireproof/proto/collective/combine.hpp"

#include <cstring>
#include <type_traits>

#include "wireproof/base/check.hpp"

namespace wireproof::collective {
namespace {

struct Sum {
    template <class T>
    static T of(T left, T right) {
        if constexpr (std::is_integral_v<T>) {  // a signed sum must not overflow
            using Unsigned = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<Unsigned>(left) + static_cast<Unsigned>(right));
        } else {
            return left + right;
        }
    }
};

struct Min {
    template <class T>
    static T of(T left, T right) {
        return left < right ? left : right;
    }
};

struct Max {
    template <class T>
    static T of(T left, T right) {
        return left > right ? left : right;
    }
};

template <class T, class Op>
void combine_all(Bytes mine, ConstBytes theirs, Mine side) {
    for (std::size_t at = 0; at < mine.size(); at += sizeof(T)) {
        T here;
        T there;
        std::memcpy(&here, mine.data() + at, sizeof(T));
        std::memcpy(&there, theirs.data() + at, sizeof(T));
        const T both = side == Mine::left ? Op::of(here, there) : Op::of(there, here);
        std::memcpy(mine.data() + at, &both, sizeof(T));
    }
}

template <class T>
void combine_as(Reduction reduction, Bytes mine, ConstBytes theirs, Mine side) {
    switch (reduction) {
        case Reduction::sum: return combine_all<T, Sum>(mine, theirs, side);
        case Reduction::min: return combine_all<T, Min>(mine, theirs, side);
        case Reduction::max: return combine_all<T, Max>(mine, theirs, side);
    }
}

}  // namespace

void combine(Element element, Reduction reduction, Bytes mine, ConstBytes theirs, Mine side) {
    WIREPROOF_CHECK(mine.size() == theirs.size() && mine.size() % size_of(element) == 0);
    switch (element) {
        case Element::none: return;
        case Element::float32: return combine_as<float>(reduction, mine, theirs, side);
        case Element::float64: return combine_as<double>(reduction, mine, theirs, side);
        case Element::int32: return combine_as<std::int32_t>(reduction, mine, theirs, side);
        case Element::int64: return combine_as<std::int64_t>(reduction, mine, theirs, side);
        case Element::uint32: return combine_as<std::uint32_t>(reduction, mine, theirs, side);
        case Element::uint64: return combine_as<std::uint64_t>(reduction, mine, theirs, side);
    }
}

}  // namespace wireproof::collective
