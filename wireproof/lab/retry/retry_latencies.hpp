// Times from a unit's first departure until it is taken. On a line without errors it is the same
// for all, so values are kept as runs.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "wireproof/base/histogram.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::lab {

class RetryLatencies {
public:
    /// Values of a stretch, and how often each came.
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

    /// What was added since the last call.
    Runs take_stretch() {
        flush();
        return std::exchange(stretch_, {});
    }
    /// Whether anybody wants stretches: runs are then kept apart.
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
