#include "wireproof/lab/link_retry/retry_models.hpp"

#include <algorithm>

namespace wireproof::lab {
namespace {

std::size_t places(const RetryLink& link) {
    const auto unit = static_cast<std::uint64_t>(link.unit.bytes());
    return static_cast<std::size_t>(
        std::min<std::uint64_t>(link.buffer, 1 + (link.loop + unit - 1) / unit));
}

}  // namespace

RetryModel::RetryModel(const RetryLink& link, RetryFaults faults, bool jumps, RetryPulse pulse)
    : unit_(static_cast<std::uint64_t>(link.unit.bytes())),
      round_(link.loop + unit_),
      selective_(link.scheme == RetryScheme::selective_repeat),
      jumps_(jumps),
      pulse_(std::move(pulse)),
      faults_(std::move(faults)),
      failed_(places(link)) {
    round_ = std::max(round_, failed_.size() * unit_);
}

void RetryModel::advance(Wide accepted) {
    while (totals_[RetryCount::accepted] < accepted) {
        if (pulse_ && (++turns_ & 0x7FFF) == 0) pulse_(totals_[RetryCount::accepted]);
        if (!jumps_ || !skip(accepted - totals_[RetryCount::accepted])) live();
    }
}

// Skips all units before the next error, if no unit is pending.
bool RetryModel::skip(Wide left) {
    if (pending_ > 0) return false;
    const auto units =
        static_cast<std::uint64_t>(std::min<Wide>(left, faults_.clean_bits(0) / (8 * unit_)));
    if (units == 0) return false;
    faults_.skip(0, units, 8 * units * unit_);
    pass(units);
    accept(0, units);
    jumped_ += units;
    return true;
}

void RetryModel::live() {
    const bool bad = faults_.damages(0, static_cast<std::size_t>(unit_));
    if (selective_) {
        live_selective(bad);
    } else {
        live_going_back(bad);
    }
}

void RetryModel::live_selective(bool bad) {
    std::uint32_t& failed = failed_[place_];
    totals_[RetryCount::resent] += failed > 0 ? 1U : 0U;
    if (bad) {
        pending_ += failed == 0 ? 1U : 0U;
        ++failed;
    } else {
        pending_ -= failed > 0 ? 1U : 0U;
        accept(failed);
        failed = 0;
    }
    pass(1);
}

// After a failure, the expected unit is always in place 0: the round begins with it.
void RetryModel::live_going_back(bool bad) {
    std::uint32_t& failed = failed_[0];
    if (in_vain_ > 0) {
        pass(1);
        if (--in_vain_ > 0) return;
        totals_[RetryCount::resent] += failed_.size();
        return;
    }
    if (bad) {
        ++failed;
        pending_ = 1;
        place_ = 0;
        pass(1);
        in_vain_ = failed_.size() - 1;
        if (in_vain_ == 0) totals_[RetryCount::resent] += 1;
        return;
    }
    accept(failed);
    failed = 0;
    pending_ = 0;
    pass(1);
}

void RetryModel::pass(std::uint64_t units) {
    totals_[RetryCount::units] += units;
    totals_[RetryCount::frames_forward] += units;
    totals_[RetryCount::bytes_forward] += Wide{units} * unit_;
    const std::uint64_t rounds = (place_ + units) / failed_.size();
    place_ = static_cast<std::size_t>((place_ + units) % failed_.size());
    totals_[RetryCount::time] +=
        Wide{units} * unit_ + Wide{rounds} * (round_ - failed_.size() * unit_);
}

void RetryModel::accept(std::uint64_t failures, std::uint64_t units) {
    totals_[RetryCount::accepted] += units;
    totals_[RetryCount::kept] += Wide{units} * failed_.size();
    totals_[RetryCount::naks] += failures;
    const std::uint64_t vain = failures * (selective_ ? 1 : failed_.size());
    batches_.take(units, vain);
    totals_[RetryCount::wasted] += vain;
    totals_[RetryCount::wasted_squared] += Wide{vain} * vain;
    latencies_.add({{unit_ + failures * round_, 1}}, units);
}

}  // namespace wireproof::lab
