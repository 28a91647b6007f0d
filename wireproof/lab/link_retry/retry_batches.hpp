// The variance of a resend ratio. Units in vain are not independent where one failure leads to the
// next: a replay that fails costs a longer replay. So the units that the receiver takes are divided
// into batches of equal length, and the variance is that of the batches. There are always some
// dozens of batches: when there are too many, each two become one. A regular value.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/lab/link_retry/retry_counts.hpp"

namespace wireproof::lab {

class RetryBatches {
public:
    /// A part of a run: of each unit that cost others in vain, the number of units that were taken
    /// since the one before, without itself, and the units in vain.
    using Wastes = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

    /// The receiver takes so many units. Before the first one, `wasted` units arrived in vain.
    void take(std::uint64_t units, std::uint64_t wasted) {
        if (units < left_) {
            open_ += wasted;
            left_ -= units;
            return;
        }
        fill(units, wasted);
    }
    /// The same, and keeps it as a part of the stretch.
    void take_in_stretch(std::uint64_t units, std::uint64_t wasted) {
        take(units, wasted);
        if (!keep_stretch_) return;
        if (wasted > 0) {
            stretch_.emplace_back(since_waste_, wasted);
            since_waste_ = 0;
            units -= 1;
        }
        since_waste_ += units;
    }
    /// A stretch of so many units happens again, `times` times.
    void repeat(const Wastes& stretch, std::uint64_t units, std::uint64_t times);

    /// Returns what was kept since the last call.
    Wastes take_stretch() {
        since_waste_ = 0;
        return std::exchange(stretch_, {});
    }
    void keep_stretch(bool keep) {
        take_stretch();
        keep_stretch_ = keep;
    }

    /// The variance of the mean waste of n units is this value divided by n, if n is large. Nothing
    /// if there are too few batches.
    std::optional<double> variance() const;

private:
    static constexpr std::size_t most = 128;  // batches
    static constexpr std::size_t least = 32;

    void fill(std::uint64_t units, std::uint64_t wasted);
    void merge();

    std::uint64_t length_ = 1;  // units of a batch
    std::uint64_t left_ = 1;    // of the open batch
    Wide open_ = 0;             // its units in vain
    std::size_t count_ = 0;
    std::array<Wide, most> wasted_{};

    bool keep_stretch_ = false;
    std::uint64_t since_waste_ = 0;
    Wastes stretch_;
};

}  // namespace wireproof::lab
