// A generator that gives the same numbers on every platform and with every standard library:
// xoshiro256++, seeded through splitmix64 (Blackman and Vigna, public domain algorithms). It is a
// regular value: a copy draws the same numbers as the original from then on.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace wireproof {

/// One step of splitmix64. It is also a good mixer for 64 bits.
constexpr std::uint64_t mix64(std::uint64_t value) {
    value += 0x9E3779B97F4A7C15;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
    return value ^ (value >> 31);
}

class Random {
public:
    constexpr explicit Random(std::uint64_t seed) {
        for (auto& word : state_) {
            word = mix64(seed);
            seed += 0x9E3779B97F4A7C15;
        }
    }

    constexpr std::uint64_t next() {
        const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
        const std::uint64_t t = state_[1] << 17;
        state_[2] ^= state_[0];
        state_[3] ^= state_[1];
        state_[1] ^= state_[2];
        state_[0] ^= state_[3];
        state_[2] ^= t;
        state_[3] = std::rotl(state_[3], 45);
        return result;
    }

    /// Uniform in [0, 1) with 53 random bits.
    constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

    /// Uniform in [0, bound) for a bound up to 2^32; the bias of the multiplication is below 2^-32.
    constexpr std::uint64_t below(std::uint64_t bound) {
        const std::uint64_t draw = next();
        const std::uint64_t high = (draw >> 32) * bound;
        const std::uint64_t low = (draw & 0xFFFFFFFF) * bound;
        return (high + (low >> 32)) >> 32;
    }

    /// True with the given probability; 0 never and 1 always.
    constexpr bool chance(double probability) { return uniform() < probability; }

    constexpr const std::array<std::uint64_t, 4>& state() const { return state_; }

private:
    std::array<std::uint64_t, 4> state_{};
};

}  // namespace wireproof
