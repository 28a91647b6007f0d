// Decides which frames of a point are damaged, in both directions. It is not part of the world, so
// that a jump of the world does not change the random draws.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "wireproof/core/fault_plan.hpp"
#include "wireproof/lab/line/unit_line.hpp"
#include "wireproof/lab/link_retry/loss_trace.hpp"

namespace wireproof::lab {

class RetryFaults {
public:
    struct Rates {
        double forward = 0;  // bit errors, independent
        double back = 0;
        double notice_loss = 0;  // probability that a notice is lost
        LossBursts bursts{};     // forward, counted in frames; `begin` 0: no bursts
        std::shared_ptr<const LossTrace> trace = {};  // forward, in addition; null: none
        /// Each frame is a unit of such a line, and the rates above are those of its events.
        std::optional<UnitLineTerms> line = {};
    };

    RetryFaults(const Rates& rates, std::uint64_t seed)
        : plans_{FaultPlan({.bit_error = rates.line ? 0 : rates.forward}, mix64(seed)),
                 FaultPlan({.bit_error = rates.line ? 0 : rates.back}, mix64(~seed))},
          trace_(rates.trace),
          notice_loss_(rates.notice_loss),
          notices_(mix64(seed + 1)) {
        if (rates.bursts.begin > 0) plans_[0].set_bursts(rates.bursts);
        if (trace_) recorded_.emplace(*trace_);
        if (rates.line) {
            lines_.emplace_back(*rates.line, rates.forward, mix64(seed));
            lines_.emplace_back(*rates.line, rates.back, mix64(~seed));
        }
    }

    bool damages(std::size_t direction, std::size_t length) {
        bool bad = direction == 0 && recorded_ && recorded_->next_is_bad();
        if (!lines_.empty()) {
            WIREPROOF_CHECK(length == lines_[direction].terms().unit);
            bad = lines_[direction].next_is_bad() || bad;
        }
        if (plans_[direction].passes(length)) {
            if (!bad) return false;
        } else {
            const Fate fate = plans_[direction].decide({.length = length});
            if (!fate.damaged && !fate.lost && !bad) return false;
        }
        ++damaged_;
        return true;
    }
    /// Damaged frames so far, in both directions.
    std::uint64_t damaged() const { return damaged_; }
    bool loses_notices() const { return notice_loss_ > 0; }
    bool loses_notice() { return notices_.chance(notice_loss_); }

    /// Number of bits before the next error. 0 if each frame has its own random fate.
    std::uint64_t clean_bits(std::size_t direction) const {
        return loses_notices() || recorded_ ? 0 : clean_line_bits(direction);
    }
    void skip(std::size_t direction, std::uint64_t frames, std::uint64_t bits) {
        plans_[direction].skip(frames, bits);
        if (!lines_.empty()) lines_[direction].skip(frames);
    }
    /// Of the units that were sent forward.
    UnitLineCounts line_counts() const {
        return lines_.empty() ? UnitLineCounts() : lines_[0].counts();
    }

private:
    std::uint64_t clean_line_bits(std::size_t direction) const {
        const std::uint64_t bits = plans_[direction].clean_bits();
        if (lines_.empty()) return bits;
        const UnitLine& line = lines_[direction];
        return std::min<std::uint64_t>(bits, 8 * line.terms().unit * line.clean_units());
    }

    std::array<FaultPlan, 2> plans_;
    std::vector<UnitLine> lines_;  // empty, or one for each direction
    std::shared_ptr<const LossTrace> trace_;
    std::optional<LossTracePlayer> recorded_;
    double notice_loss_;
    Random notices_;
    std::uint64_t damaged_ = 0;
};

}  // namespace wireproof::lab
