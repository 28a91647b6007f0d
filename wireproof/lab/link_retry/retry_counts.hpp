// The counts of a point, as numbers that can be added and multiplied: a stretch of the simulation
// that repeats counts as often as it is repeated.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace wireproof::lab {

/// Wide enough for more than 10^15 packets of 4 KiB, which are 4 10^18 bytes.
__extension__ using Wide = unsigned __int128;

inline double number(Wide value) {
    return static_cast<double>(value);
}

/// Called at least some times a second with the number of units accepted so far. If it throws, the
/// run is given up.
using RetryPulse = std::function<void(Wide)>;

enum class RetryCount : std::uint8_t {
    accepted,        // units that the receiver took, each once
    units,           // put on the line
    resent,          // of these, not for the first time
    wasted,          // units that arrived and were not taken
    wasted_squared,  // units in vain between two that were taken, squared and summed
    kept,            // units in the replay buffer at each first departure, summed
    timeouts,
    replays,
    acks,  // frames that only acknowledge
    naks,
    frames_forward,
    frames_back,
    bytes_forward,
    bytes_back,
    time,  // in bytes on the line
    count_
};

/// By direction: forward, back.
inline constexpr std::array<RetryCount, 2> frames_of = {RetryCount::frames_forward,
                                                        RetryCount::frames_back};
inline constexpr std::array<RetryCount, 2> bytes_of = {RetryCount::bytes_forward,
                                                       RetryCount::bytes_back};

template <class Word>
class CountsOf {
public:
    Word& operator[](RetryCount what) { return words_[static_cast<std::size_t>(what)]; }
    const Word& operator[](RetryCount what) const { return words_[static_cast<std::size_t>(what)]; }

    CountsOf& operator+=(const CountsOf& other) {
        for (std::size_t i = 0; i < size; ++i) words_[i] += other.words_[i];
        return *this;
    }
    /// The result may pass below zero, because differences of unsigned numbers wrap.
    CountsOf& operator-=(const CountsOf& other) {
        for (std::size_t i = 0; i < size; ++i) words_[i] -= other.words_[i];
        return *this;
    }
    CountsOf& operator*=(Word times) {
        for (Word& word : words_) word *= times;
        return *this;
    }
    friend CountsOf operator+(CountsOf a, const CountsOf& b) { return a += b; }
    friend CountsOf operator-(CountsOf a, const CountsOf& b) { return a -= b; }
    friend CountsOf operator*(CountsOf a, Word times) { return a *= times; }
    friend bool operator==(const CountsOf&, const CountsOf&) = default;

    template <class Other>
    CountsOf<Other> as() const {
        CountsOf<Other> other;
        for (std::size_t i = 0; i < size; ++i) {
            const auto what = static_cast<RetryCount>(i);
            other[what] = static_cast<Other>((*this)[what]);
        }
        return other;
    }

private:
    static constexpr std::size_t size = static_cast<std::size_t>(RetryCount::count_);
    std::array<Word, size> words_{};
};

using RetryCounts = CountsOf<std::uint64_t>;  // of a stretch
using RetryTotals = CountsOf<Wide>;           // of a whole point

}  // namespace wireproof::lab
