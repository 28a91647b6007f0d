// Which frame is lost, damaged, repeated or held back: from rates, from bursts, or from a script
// that names frames. Pure, and the same on a simulated cable and on a live wire; it decides, the
// wire does.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/base/random.hpp"
#include "wireproof/core/frame_info.hpp"

namespace wireproof {

/// Probabilities of a wire's faults. All are 0..1 and independent of each other.
struct FaultRates {
    double loss = 0;       // per frame
    double bit_error = 0;  // per bit
    double duplicate = 0;  // per frame
    double reorder = 0;    // per frame: held back behind the next 1 to hold_max
    std::uint32_t hold_max = 8;

    friend bool operator==(const FaultRates&, const FaultRates&) = default;
};

/// A two-state (Gilbert–Elliott) source of loss besides FaultRates::loss: the state changes between
/// frames, and frames are lost at the rate of the state they meet.
struct LossBursts {
    double begin = 0;  // probability per frame of going from good to bad
    double end = 1;    // and back
    double loss_in_burst = 1;
};

/// What happens to one frame.
struct Fate {
    bool lost = false;
    bool damaged = false;
    bool duplicated = false;
    std::uint32_t held_behind = 0;  // frames that overtake it

    friend bool operator==(const Fate&, const Fate&) = default;
};

/// One line of a script: the frames it names, and what happens to them instead of what the rates
/// say.
struct FaultRule {
    std::string kind = {};  // as in FrameInfo; empty names every kind
    std::optional<std::uint32_t> channel = {};
    std::uint32_t number_first = 0;  // own sequence number; frames without one match the full range
    std::uint32_t number_last = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t nth_first = 1;  // among the frames that match the above, counted from 1
    std::uint64_t nth_last = std::numeric_limits<std::uint64_t>::max();
    Fate fate = {};
};

/// Whether the rule is about such a frame, however many came before it.
bool names(const FaultRule& rule, const FrameInfo& info);

/// What a plan has done so far.
struct FaultCounts {
    std::uint64_t frames = 0;
    std::uint64_t lost = 0;
    std::uint64_t damaged = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t held = 0;
};

/// A regular value: a copy meets the same future.
class FaultPlan {
public:
    FaultPlan() : FaultPlan(FaultRates{}, 0) {}
    FaultPlan(FaultRates rates, std::uint64_t seed);

    void set_bursts(LossBursts bursts) {
        bursts_ = bursts;
        only_bit_errors_ = false;
    }
    void add_rule(FaultRule rule) { script_.push_back({std::move(rule), 0}); }

    /// The fate of the next frame, in the order of sending. The first matching rule decides;
    /// without one the rates do.
    Fate decide(const FrameInfo& info);

    /// The same as a decide that finds nothing, without its cost; false: ask decide.
    bool passes(std::size_t length) {
        if (!only_bit_errors_ || scripted() || bits_to_error_ < 8 * length) return false;
        ++counts_.frames;
        bits_to_error_ -= rates_.bit_error > 0 ? 8 * length : 0;
        return true;
    }

    /// Bits from here on that meet nothing, whatever frames they are in; 0 where each frame has a
    /// fate of its own to be drawn.
    std::uint64_t clean_bits() const {
        return only_bit_errors_ && !scripted() ? bits_to_error_ : 0;
    }
    /// As so many frames of together so many bits, at most clean_bits(), had passed.
    void skip(std::uint64_t frames, std::uint64_t bits) {
        WIREPROOF_CHECK(bits <= clean_bits());
        counts_.frames += frames;
        bits_to_error_ -= rates_.bit_error > 0 ? bits : 0;
    }

    /// Flips the bits of the frame last decided on; flips one at random where a rule said
    /// `damaged`. A frame of no bytes is left as it is.
    void damage(Bytes frame);

    /// Without a script, a wire need not describe its frames.
    bool scripted() const { return !script_.empty(); }
    const FaultCounts& counts() const { return counts_; }

private:
    struct Line {
        FaultRule rule;
        std::uint64_t seen;
    };

    std::optional<Fate> scripted_fate(const FrameInfo& info);
    bool lost_at_random();
    bool meets_bit_errors(std::size_t bytes);
    std::uint64_t draw_gap();

    FaultRates rates_;
    LossBursts bursts_;
    std::uint64_t seed_;
    Random random_;
    std::vector<Line> script_;
    FaultCounts counts_;
    std::uint64_t bits_to_error_ = std::numeric_limits<std::uint64_t>::max();
    std::vector<std::uint64_t> flips_;  // bit offsets in the frame last decided on
    bool in_burst_ = false;
    bool only_bit_errors_ = true;  // most frames then meet nothing at all
};

}  // namespace wireproof
