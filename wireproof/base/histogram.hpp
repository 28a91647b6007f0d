// Counts values of every magnitude, to compute percentiles of latencies without storing each
// latency. A counted value differs from the real one by at most 1/128 of it. The design follows HDR
// histograms.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <span>

namespace wireproof {

class Histogram {
public:
    void add(std::uint64_t value, std::uint64_t times = 1) {
        counts_[place_of(value)] += times;
        count_ += times;
        sum_ += value * times;
        largest_ = std::max(largest_, value);
    }
    void add(const Histogram& other, std::uint64_t times = 1) {
        for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i] * times;
        count_ += other.count_ * times;
        sum_ += other.sum_ * times;
        largest_ = std::max(largest_, other.largest_);
    }

    std::uint64_t count() const { return count_; }
    std::uint64_t largest() const { return largest_; }
    /// Exact, unless the sum of all values exceeds 64 bits. 0 if there are no values.
    double mean() const {
        return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_);
    }
    /// `share` (0 to 1) of all values are at most this value. 0 if there are no values.
    std::uint64_t percentile(double share) const {
        constexpr double rounding = 1e-6;  // 0.99 of 10,000 is 9,900, not a little more
        const double wanted = std::max(1.0, share * static_cast<double>(count_) - rounding);
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen == count_) break;
            if (seen > 0 && static_cast<double>(seen) >= wanted) return middle_of(i);
        }
        return largest_;
    }

private:
    // Values below 2 * `part` have an exact place each. Above, each power of two has `part` places.
    static constexpr unsigned part_bits = 6;
    static constexpr std::uint64_t part = std::uint64_t{1} << part_bits;

    static std::size_t place_of(std::uint64_t value) {
        if (value < 2 * part) return static_cast<std::size_t>(value);
        const auto shift = static_cast<unsigned>(std::bit_width(value)) - part_bits - 1;
        return static_cast<std::size_t>((shift << part_bits) + (value >> shift));
    }
    static std::uint64_t middle_of(std::size_t place) {
        if (place < 2 * part) return place;
        const auto shift = static_cast<unsigned>(place >> part_bits) - 1;
        const std::uint64_t first = (place - (std::uint64_t{shift} << part_bits)) << shift;
        return first + (std::uint64_t{1} << shift) / 2;
    }

    std::array<std::uint64_t, (64 - part_bits + 1) * part> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t sum_ = 0;
    std::uint64_t largest_ = 0;
};

/// The values of all histograms together. Each histogram has the same weight (to within 1/64),
/// however many values it has; an empty one has no weight. So the median agrees with most of the
/// histograms, as the median of their medians would, and a higher percentile is never below a lower
/// one.
inline Histogram of_equal_weight(std::span<const Histogram> histograms) {
    constexpr std::uint64_t exactness = 64;
    std::uint64_t most = 0;
    for (const Histogram& one : histograms) most = std::max(most, one.count());
    Histogram all;
    for (const Histogram& one : histograms) {
        if (one.count() > 0) all.add(one, most * exactness / one.count());
    }
    return all;
}

}  // namespace wireproof
