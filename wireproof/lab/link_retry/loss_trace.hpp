// A text that records which frames of a real line arrived, one after the other.
//
//      # a bad cable, an hour of it
//      ok 120413
//      bad
//      ok 17
//      bad 3
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::lab {

/// A regular value.
class LossTrace {
public:
    struct Run {
        std::uint64_t frames = 1;
        bool bad = false;
    };

    /// A line is `ok` or `bad`, followed by a number of frames (1 if it is missing). `#` begins a
    /// comment. An error is one line, "FILE:LINE:COLUMN: what"; `file` is the name in it. At least
    /// one frame must be ok: otherwise a simulation would never end.
    static Expected<LossTrace> read(std::string_view text, std::string_view file);

    const std::vector<Run>& runs() const { return runs_; }
    std::uint64_t frames() const { return frames_; }
    std::uint64_t bad_frames() const { return bad_frames_; }
    /// Of the content: the same losses have the same digest, however the text writes them.
    std::uint64_t digest() const;

private:
    std::vector<Run> runs_;  // alternately ok and bad
    std::uint64_t frames_ = 0;
    std::uint64_t bad_frames_ = 0;
};

/// Goes through a trace, and begins again at its end. A regular value; the trace must outlive it.
class LossTracePlayer {
public:
    explicit LossTracePlayer(const LossTrace& trace)
        : trace_(&trace), left_(trace.runs().front().frames) {}

    /// Whether the next frame is bad.
    bool next_is_bad() {
        const std::vector<LossTrace::Run>& runs = trace_->runs();
        while (left_ == 0) {
            at_ = at_ + 1 == runs.size() ? 0 : at_ + 1;
            left_ = runs[at_].frames;
        }
        --left_;
        return runs[at_].bad;
    }

private:
    const LossTrace* trace_;
    std::size_t at_ = 0;
    std::uint64_t left_;
};

}  // namespace wireproof::lab
