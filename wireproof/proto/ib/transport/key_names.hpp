// Names for places in a table, such that one name says nothing about another: a permutation of the
// numbers of 24 bits, chosen by a seed (Feistel network, four rounds). A host that has seen no key
// cannot guess one. A host that has seen many keys may compute others.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/base/random.hpp"

namespace wireproof::proto::ib {

class KeyNames {
public:
    static constexpr std::uint32_t most = (1U << 24) - 1;

    explicit constexpr KeyNames(std::uint64_t seed) {
        Random random(seed);
        for (Round& round : rounds_) round = {random.next(), random.next() | 1};
    }

    /// Maps 1 … most to 1 … most, each to a different name.
    constexpr std::uint32_t name(std::uint32_t place) const {
        const std::uint32_t named = forward(place);
        return named != 0 ? named : forward(0);  // 0 is not a place and not a name
    }
    constexpr std::uint32_t place(std::uint32_t name) const {
        const std::uint32_t place = backward(name);
        return place != 0 ? place : backward(0);
    }

private:
    static constexpr std::uint32_t half = 0xFFF;

    struct Round {
        std::uint64_t add = 0;
        std::uint64_t multiply = 1;
        constexpr std::uint32_t of(std::uint32_t bits) const {
            return static_cast<std::uint32_t>((bits + add) * multiply >> 40) & half;
        }
    };

    constexpr std::uint32_t forward(std::uint32_t value) const {
        std::uint32_t left = value >> 12 & half;
        std::uint32_t right = value & half;
        for (const Round& round : rounds_) {
            const std::uint32_t next = left ^ round.of(right);
            left = right;
            right = next;
        }
        return left << 12 | right;
    }
    constexpr std::uint32_t backward(std::uint32_t value) const {
        std::uint32_t left = value >> 12 & half;
        std::uint32_t right = value & half;
        for (std::size_t i = rounds_.size(); i > 0; --i) {
            const std::uint32_t before = right ^ rounds_[i - 1].of(left);
            right = left;
            left = before;
        }
        return left << 12 | right;
    }

    std::array<Round, 4> rounds_{};
};

}  // namespace wireproof::proto::ib
