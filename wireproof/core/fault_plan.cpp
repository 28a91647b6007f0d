#include "wireproof/core/fault_plan.hpp"

#include <cmath>

namespace wireproof {
bool names(const FaultRule& rule, const FrameInfo& info) {
    if (!rule.kind.empty() && rule.kind != info.kind) return false;
    if (rule.channel && *rule.channel != info.channel) return false;
    if (!info.number) {
        return rule.number_first == 0 &&
               rule.number_last == std::numeric_limits<std::uint32_t>::max();
    }
    // A range may include the wrap.
    const bool wraps = rule.number_first > rule.number_last;
    const bool after = *info.number >= rule.number_first;
    const bool before = *info.number <= rule.number_last;
    return wraps ? after || before : after && before;
}

FaultPlan::FaultPlan(FaultRates rates, std::uint64_t seed)
    : rates_(rates), seed_(seed), random_(seed) {
    if (rates_.bit_error > 0) bits_to_error_ = draw_gap();
    only_bit_errors_ =
        rates_.loss == 0 && rates_.duplicate == 0 && rates_.reorder == 0 && rates_.mark == 0;
}

Fate FaultPlan::decide(const FrameInfo& info) {
    if (passes(info.length)) return {};
    ++counts_.frames;
    flips_.clear();
    // Every source draws a random number for every frame, so that a rule changes only the fate of
    // its own frame. A source that is off draws none.
    Fate fate;
    fate.damaged = meets_bit_errors(info.length);
    fate.lost = lost_at_random();
    fate.duplicated = rates_.duplicate > 0 && random_.chance(rates_.duplicate);
    if (rates_.reorder > 0 && random_.chance(rates_.reorder)) {
        fate.held_behind = 1 + static_cast<std::uint32_t>(random_.below(rates_.hold_max));
    }
    fate.marked = rates_.mark > 0 && random_.chance(rates_.mark);
    if (scripted()) {
        if (const auto named = scripted_fate(info)) {
            fate = *named;
            if (!fate.damaged) flips_.clear();
        }
    }
    if (fate.lost && !loses_) {
        fate.lost = false;
        fate.damaged = true;
    }
    if (fate.lost) fate = Fate{.lost = true};
    counts_.lost += fate.lost ? 1 : 0;
    counts_.damaged += fate.damaged ? 1 : 0;
    if (fate.damaged && fate.intact_front == 0 && counts_.damaged % 2 == 0) {
        fate.intact_front = std::min(front_, info.length);
    }
    counts_.duplicated += fate.duplicated ? 1 : 0;
    counts_.held += fate.held_behind > 0 ? 1 : 0;
    counts_.marked += fate.marked ? 1 : 0;
    return fate;
}

void FaultPlan::damage(Bytes frame, std::size_t intact_front) {
    if (intact_front > 0) {
        if (frame.size() <= intact_front) return;
        flips_.clear();
        frame = frame.subspan(intact_front);
    }
    const std::uint64_t bits = frame.size() * 8;
    if (bits == 0) return;
    // This draw does not use random_: a wire may call damage() or not, and this must not change the
    // fates of later frames.
    if (flips_.empty()) flips_.push_back(Random(mix64(seed_) + counts_.frames).below(bits));
    for (const std::uint64_t bit : flips_) {
        if (bit < bits) frame[bit / 8] ^= std::byte{1} << (bit % 8);
    }
}

std::optional<Fate> FaultPlan::scripted_fate(const FrameInfo& info) {
    std::optional<Fate> fate;
    for (Line& line : script_) {
        if (!names(line.rule, info)) continue;
        ++line.seen;
        const bool named = line.seen >= line.rule.nth_first && line.seen <= line.rule.nth_last;
        if (named && !fate) fate = line.rule.fate;
    }
    return fate;
}

bool FaultPlan::lost_at_random() {
    bool lost = rates_.loss > 0 && random_.chance(rates_.loss);
    if (bursts_.begin > 0) {
        if (random_.chance(in_burst_ ? bursts_.end : bursts_.begin)) in_burst_ = !in_burst_;
        if (in_burst_ && random_.chance(bursts_.loss_in_burst)) lost = true;
    }
    return lost;
}

// Bit errors are independent, so the gaps between them have a geometric distribution. The plan
// draws once per error, not once per bit. A gap continues from one frame to the next.
bool FaultPlan::meets_bit_errors(std::size_t bytes) {
    if (rates_.bit_error <= 0) return false;
    const std::uint64_t bits = bytes * 8;
    std::uint64_t at = bits_to_error_;
    while (at < bits) {
        flips_.push_back(at);
        at += 1 + draw_gap();
    }
    bits_to_error_ = at - bits;
    return !flips_.empty();
}

std::uint64_t FaultPlan::draw_gap() {
    if (rates_.bit_error >= 1) return 0;
    const double gap = std::floor(std::log1p(-random_.uniform()) / std::log1p(-rates_.bit_error));
    return gap < 0x1p62 ? static_cast<std::uint64_t>(gap) : std::uint64_t{1} << 62;
}

}  // namespace wireproof
