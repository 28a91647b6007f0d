#include "wireproof/lab/link_retry/retry_batches.hpp"

#include <algorithm>

namespace wireproof::lab {

void RetryBatches::repeat(const Wastes& stretch, std::uint64_t units, std::uint64_t times) {
    if (stretch.empty()) return take(units * times, 0);
    std::uint64_t all = 0;
    for (const auto& [before, wasted] : stretch) all += wasted;
    while (times > 0) {
        // Whole stretches that end before the batch does count at once.
        const std::uint64_t whole = std::min((left_ - 1) / units, times);
        if (whole > 0) {
            open_ += Wide{whole} * all;
            left_ -= whole * units;
            times -= whole;
            continue;
        }
        std::uint64_t rest = units;
        for (const auto& [before, wasted] : stretch) {
            if (before > 0) take(before, 0);
            take(1, wasted);
            rest -= before + 1;
        }
        if (rest > 0) take(rest, 0);
        --times;
    }
}

void RetryBatches::fill(std::uint64_t units, std::uint64_t wasted) {
    open_ += wasted;
    while (units >= left_) {
        units -= left_;
        wasted_[count_++] = std::exchange(open_, 0);
        left_ = length_;
        if (count_ == most) merge();
    }
    left_ -= units;
}

void RetryBatches::merge() {
    for (std::size_t i = 0; i < most / 2; ++i) wasted_[i] = wasted_[2 * i] + wasted_[2 * i + 1];
    count_ = most / 2;
    length_ *= 2;
    left_ = length_;
}

// If a batch is not much longer than a chain of failures, its neighbours depend on it. Their
// covariance is the part of the variance that longer batches would show.
std::optional<double> RetryBatches::variance() const {
    if (count_ < least) return std::nullopt;
    const auto n = static_cast<double>(count_);
    double mean = 0;
    for (std::size_t i = 0; i < count_; ++i) mean += number(wasted_[i]) / n;
    double squares = 0;
    double neighbours = 0;
    for (std::size_t i = 0; i < count_; ++i) {
        const double off = number(wasted_[i]) - mean;
        squares += off * off;
        if (i > 0) neighbours += off * (number(wasted_[i - 1]) - mean);
    }
    return (squares + 2 * std::max(neighbours, 0.0)) / (n - 1) / static_cast<double>(length_);
}

}  // namespace wireproof::lab
