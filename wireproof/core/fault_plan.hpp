// Decides which frames are lost, damaged, duplicated, held back or marked: at random by rates, in
// bursts, or by a script that names frames. A plan is a pure state machine and works the same on a
// simulated cable and on a live wire. The plan only decides; the wire applies the decision.
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
    double reorder = 0;    // per frame: the next 1 to hold_max frames overtake it
    std::uint32_t hold_max = 8;
    double mark = 0;  // per frame: as by a router with a long queue (ECN)

    friend bool operator==(const FaultRates&, const FaultRates&) = default;
};

/// A two-state (Gilbert–Elliott) source of loss, in addition to FaultRates::loss. The state may
/// change before each frame. In the bad state, a frame is lost with probability loss_in_burst.
struct LossBursts {
    double begin = 0;  // probability per frame to change from good to bad
    double end = 1;    // and from bad to good
    double loss_in_burst = 1;
};

/// What the plan decides for one frame.
struct Fate {
    bool lost = false;
    bool damaged = false;
    bool duplicated = false;
    std::uint32_t held_behind = 0;  // frames that overtake it
    bool marked = false;            // only a simulated cable can do this
    /// Of a damaged frame: bytes at its beginning that are not damaged.
    std::size_t intact_front = 0;

    friend bool operator==(const Fate&, const Fate&) = default;
};

/// One line of a script: which frames it names, and the fate of these frames. The rates do not
/// apply to them.
struct FaultRule {
    std::string kind = {};  // as in FrameInfo; empty names every kind
    std::optional<std::uint32_t> channel = {};
    std::uint32_t number_first = 0;  // a frame without a number matches only the full range
    std::uint32_t number_last = std::numeric_limits<std::uint32_t>::max();
    std::uint64_t nth_first = 1;  // among the frames that match the above, counted from 1
    std::uint64_t nth_last = std::numeric_limits<std::uint64_t>::max();
    Fate fate = {};
};

/// Whether the rule names such a frame. Ignores nth_first and nth_last.
bool names(const FaultRule& rule, const FrameInfo& info);

/// What a plan has decided so far.
struct FaultCounts {
    std::uint64_t frames = 0;
    std::uint64_t lost = 0;
    std::uint64_t damaged = 0;
    std::uint64_t duplicated = 0;
    std::uint64_t held = 0;
    std::uint64_t marked = 0;
};

/// A regular value: a copy decides the same fates as the original from then on.
class FaultPlan {
public:
    FaultPlan() : FaultPlan(FaultRates{}, 0) {}
    FaultPlan(FaultRates rates, std::uint64_t seed);

    void set_bursts(LossBursts bursts) {
        bursts_ = bursts;
        only_bit_errors_ = false;
    }
    /// For lines on which no frame vanishes: each frame that would be lost is damaged instead.
    /// Draws the same random numbers.
    void damage_what_would_be_lost() { loses_ = false; }
    /// For receivers that can use the beginning of a damaged frame alone: every second damaged
    /// frame is intact for so many bytes, if no rule says for how many. Draws no random number.
    void keep_fronts(std::size_t bytes) { front_ = bytes; }
    void add_rule(FaultRule rule) { script_.push_back({std::move(rule), 0}); }

    /// Decides the fate of the next frame. The caller must call it in the order of sending. The
    /// first rule that matches decides; if none matches, the rates do.
    Fate decide(const FrameInfo& info);

    /// A cheap decide() for a frame that meets no fault: it counts the frame and returns true.
    /// False: it did nothing, and the caller must call decide().
    bool passes(std::size_t length) {
        if (!only_bit_errors_ || scripted() || bits_to_error_ < 8 * length) return false;
        ++counts_.frames;
        bits_to_error_ -= rates_.bit_error > 0 ? 8 * length : 0;
        return true;
    }

    /// The number of bits that will meet no fault, however they are divided into frames. 0 if the
    /// plan must draw a fate for each frame.
    std::uint64_t clean_bits() const {
        return only_bit_errors_ && !scripted() ? bits_to_error_ : 0;
    }
    /// Same effect as if `frames` frames with `bits` bits in total had passed. `bits` may be at
    /// most clean_bits().
    void skip(std::uint64_t frames, std::uint64_t bits) {
        WIREPROOF_CHECK(bits <= clean_bits());
        counts_.frames += frames;
        bits_to_error_ -= rates_.bit_error > 0 ? bits : 0;
    }

    /// Flips the bits that the last decide() chose in its frame. If a rule said `damaged` and
    /// decide() chose no bit, flips one at random. If a front stays intact, one random bit after it
    /// is flipped instead. A frame without such a bit stays as it is.
    void damage(Bytes frame, std::size_t intact_front = 0);

    /// If there is no script, a wire need not describe its frames.
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
    std::vector<std::uint64_t> flips_;  // bit offsets in the frame of the last decide()
    bool in_burst_ = false;
    bool loses_ = true;
    std::size_t front_ = 0;
    bool only_bit_errors_ = true;  // then most frames meet no fault
};

}  // namespace wireproof
