// A recorded line as text: which of its frames came through, one after the other.
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

    /// A line is `ok` or `bad` with a number of frames, 1 if there is none; `#` begins a comment.
    /// What is wrong is one line, "FILE:LINE:COLUMN: what"; `file` is what it calls the text. Some
    /// frame must be ok: a line that carries nothing ends no simulation.
    static Expected<LossTrace> read(std::string_view text, std::string_view file);

    const std::vector<Run>& runs() const { return runs_; }
    std::uint64_t frames() const { return frames_; }
    std::uint64_t bad_frames() const { return bad_frames_; }
    /// Of what it says, not of how it is written.
    std::uint64_t digest() const;

private:
    std::vector<Run> runs_;  // by turns ok and bad
    std::uint64_t frames_ = 0;
    std::uint64_t bad_frames_ = 0;
};

/// Goes through a trace, and begins again where it ends. A regular value; the trace outlives it.
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
