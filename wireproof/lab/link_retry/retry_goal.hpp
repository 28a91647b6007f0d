// What the runs of engines and of models share: the faults of a point, the end of its run, and its
// figures.
#pragma once

#include <algorithm>
#include <cmath>

#include "wireproof/base/histogram.hpp"
#include "wireproof/lab/link_retry/retry_faults.hpp"
#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

RetryFaults faults_of(const RetrySettings& settings, const RetryLink& link, std::uint64_t seed);
/// Whether only bit errors decide which frames are bad.
bool is_independent(const RetrySettings& settings);
/// The part of a point that is known before its run.
RetryPoint point_of(const RetrySettings& settings, const RetryLink& link);
/// The setting that gives each frame its own random fate; empty if there is none.
std::string_view jump_obstacle(const RetrySettings& settings);

template <class Run>
void take_counts(const Run& run, RetryPoint& point) {
    point.totals = run.totals();
    point.variance = run.batches().variance().value_or(0);
}

template <class Run>
void take_figures(Run& run, RetryPoint& point) {
    take_counts(run, point);
    point.line_counts = run.faults().line_counts();
    point.jumped = run.jumped();
    point.kept_most = run.kept_most();
    const Wide first = point.totals[RetryCount::units] - point.totals[RetryCount::resent];
    point.kept_mean = first == 0 ? 0
                                 : static_cast<double>(point.totals[RetryCount::kept]) /
                                       static_cast<double>(first);
    const Histogram& latencies = run.latencies();
    constexpr std::array<double, 4> shares = {0.5, 0.99, 0.999, 1};
    for (std::size_t i = 0; i < shares.size(); ++i) {
        point.latency[i] = latencies.percentile(shares[i]);
    }
    point.latency.back() = latencies.largest();
}

/// The end of a run, and the reports of its progress.
class RetryGoal {
    struct OutOfTime {};

public:
    RetryGoal(const RetryPlan& plan, const RetrySettings& settings)
        : plan_(plan),
          foreseeable_(is_independent(settings)),
          units_(static_cast<double>(std::max<std::uint64_t>(plan.packets, 1))) {}

    RetryPulse pulse() {
        if (!plan_.progress && !plan_.out_of_time) return {};
        return [this](Wide accepted) {
            if (plan_.progress) plan_.progress(static_cast<double>(accepted) / units_);
            if (plan_.out_of_time && plan_.out_of_time()) throw OutOfTime();
        };
    }

    /// `advance(n)` returns false if the link has come to rest; then the run ends, too.
    /// `measured()` returns the relative error.
    template <class Advance, class Measured>
    bool reach(RetryPoint& point, Advance&& advance, Measured&& measured) {
        try {
            return go(point, advance, measured);
        } catch (const OutOfTime&) {
            point.stopped = true;
            return true;
        }
    }

private:
    template <class Advance, class Measured>
    bool go(const RetryPoint& point, Advance& advance, Measured& measured) {
        if (plan_.packets > 0) return advance(plan_.packets);
        units_ = foreseen(point);
        while (true) {
            const double most = static_cast<double>(plan_.packets_max);
            units_ = std::min(units_, most);
            if (!advance(static_cast<std::uint64_t>(units_))) return false;
            if (!point.meets_errors || units_ >= most) return true;
            const std::optional<double> error = measured();
            if (error && *error <= plan_.relative_error) return true;
            const double more = error ? *error / plan_.relative_error : 2;
            units_ *= std::clamp(more * more, 1.02, 4.0);
        }
    }

    // The number of units that the run needs according to the closed form, if that covers all
    // errors.
    double foreseen(const RetryPoint& point) const {
        const double p = point.unit_error;
        if (p == 0 || !foreseeable_) return 100'000;
        const RetryLink& link = point.link;
        const double one = resend_ratio_error(link.scheme, p, link.costs, 1) /
                           resend_ratio(link.scheme, p, link.costs);
        const double wanted = one / plan_.relative_error;
        const double failures = static_cast<double>(plan_.failures_min) / p;
        return std::isfinite(wanted) ? std::max(wanted * wanted, failures) : failures;
    }

    const RetryPlan& plan_;
    bool foreseeable_;
    double units_;
};

}  // namespace wireproof::lab
