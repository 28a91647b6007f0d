// Times from the first departure of a unit until the receiver takes it. On a line without errors
// all units have the same time, so the class keeps runs of equal values.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "wireproof/base/histogram.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::lab {

class RetryLatencies {
public:
    /// The values of a stretch, and the number of times each occurred.
    using Runs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

    void add(Duration latency) {
        const auto value = static_cast<std::uint64_t>(latency.picoseconds());
        if (value != value_) {
            flush();
            value_ = value;
        }
        ++times_;
    }
    void add(const Runs& runs, std::uint64_t times) {
        for (const auto& [value, count] : runs) histogram_.add(value, count * times);
    }

    /// Returns what was added since the last call.
    Runs take_stretch() {
        flush();
        return std::exchange(stretch_, {});
    }
    /// Sets whether stretches are wanted. If they are, runs are kept separately.
    void keep_stretch(bool keep) {
        flush();
        stretch_.clear();
        keep_stretch_ = keep;
    }

    const Histogram& histogram() {
        flush();
        return histogram_;
    }

private:
    void flush() {
        if (times_ == 0) return;
        histogram_.add(value_, times_);
        if (keep_stretch_) {
            const auto same = std::find_if(stretch_.begin(), stretch_.end(),
                                           [this](const auto& run) { return run.first == value_; });
            if (same == stretch_.end()) {
                stretch_.emplace_back(value_, times_);
            } else {
                same->second += times_;
            }
        }
        times_ = 0;
    }

    Histogram histogram_;
    std::uint64_t value_ = 0;
    std::uint64_t times_ = 0;
    Runs stretch_;
    bool keep_stretch_ = false;
};

}  // namespace wireproof::lab
