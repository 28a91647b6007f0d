#include "wireproof/lab/link_retry/retry_point.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "wireproof/lab/link_retry/retry_build.hpp"
#include "wireproof/lab/link_retry/retry_models.hpp"
#include "wireproof/lab/link_retry/retry_run.hpp"

namespace wireproof::lab {
namespace {

constexpr auto at_rest = "the link has come to rest";

double number(Wide value) {
    return static_cast<double>(value);
}

RetryFaults faults_of(const RetrySettings& s, std::uint64_t seed) {
    return RetryFaults({.forward = s.bit_error,
                        .back = s.clean_back || s.protocol == RetryProtocol::uc ? 0 : s.bit_error,
                        .notice_loss = s.notice_loss,
                        .bursts = s.bursts,
                        .trace = s.loss_trace},
                       seed);
}

/// Whether only bit errors decide which frames are bad.
bool is_independent(const RetrySettings& s) {
    return s.bursts.begin == 0 && !s.loss_trace;
}

RetryPoint point_of(const RetrySettings& s, const RetryLink& link) {
    RetryPoint point;
    point.link = link;
    point.unit_error = unit_error(s.bit_error, link.unit.bytes());
    point.has_closed_form = is_independent(s) && !s.loaded_back;
    const bool bursts = s.bursts.begin > 0 && s.bursts.loss_in_burst > 0;
    const bool recorded = s.loss_trace && s.loss_trace->bad_frames() > 0;
    point.meets_errors = s.bit_error > 0 || bursts || recorded;
    return point;
}

template <class Run>
void take_figures(Run& run, RetryPoint& point) {
    point.totals = run.totals();
    point.jumped = run.jumped();
    point.kept_most = run.kept_most();
    const Wide first = point.totals[RetryCount::units] - point.totals[RetryCount::resent];
    point.kept_mean = first == 0 ? 0 : number(point.totals[RetryCount::kept]) / number(first);
    const Histogram& latencies = run.latencies();
    constexpr std::array<double, 4> shares = {0.5, 0.99, 0.999, 1};
    for (std::size_t i = 0; i < shares.size(); ++i) {
        point.latency[i] = latencies.percentile(shares[i]);
    }
    point.latency.back() = latencies.largest();
}

// The setting that gives each frame its own random fate; empty if there is none.
std::string_view obstacle(const RetrySettings& s) {
    if (s.loss_trace) return "a recorded trace";
    if (s.bursts.begin > 0) return "bursts";
    if (s.notice_loss > 0) return "notices that are lost";
    return {};
}

/// The end of a run, and the reports of its progress.
class Goal {
    struct OutOfTime {};

public:
    Goal(const RetryPlan& plan, const RetrySettings& settings)
        : plan_(plan),
          foreseeable_(is_independent(settings)),
          units_(static_cast<double>(std::max<std::uint64_t>(plan.packets, 1))) {}

    RetryPulse pulse() {
        if (!plan_.progress && !plan_.out_of_time) return {};
        return [this](Wide accepted) {
            if (plan_.progress) plan_.progress(number(accepted) / units_);
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

// Payload bytes of a unit that its frame does not contain, if the frame carries only one word for
// them.
template <RetryEnd End>
std::size_t not_shown(const RetrySettings& s) {
    if constexpr (requires { End::shown; }) return (s.payload + 3) / 4 * 4 - End::shown;
    return 0;
}

template <RetryEnd End>
Expected<RetryPoint> run_engines(const RetrySettings& s, const RetryPlan& plan,
                                 const RetryLink& link) {
    RetryMemory memory(s.payload);
    const auto unit = static_cast<std::size_t>(link.unit.bytes());
    typename RetryWorld<End>::Config world;
    world.forward = {.frame_max = std::max<std::size_t>(unit, End::own_max),
                     .payload = memory.source,
                     .framing = link.framing,
                     .not_shown = not_shown<End>(s)};
    world.back = world.forward;
    world.back.delay = line_time(s.loop);
    world.back.takes_time = s.loaded_back;
    world.window = std::max(link.buffer, 2U);  // uc has none: one unit in flight, one waiting
    world.loaded_back = s.loaded_back;
    RetryWorld<End> start(world, build_end<End>(s, link, memory, 0),
                          build_end<End>(s, link, memory, 1));
    if (!start.start()) return unexpected("the link does not come up");
    constexpr std::size_t places_memory = std::size_t{128} << 20;
    const std::size_t world_size = 16'384 + link.buffer * 400;
    Goal goal(plan, s);
    RetryRun<End> run({.unit = unit,
                       .jumps = plan.jump,
                       .places_max = places_memory / world_size,
                       .pulse = goal.pulse()},
                      start, faults_of(s, plan.seed));
    RetryPoint point = point_of(s, link);
    const auto measured = [&] {
        point.totals = run.totals();
        return point.relative_error();
    };
    bool records = false;
    const auto advance = [&](std::uint64_t n) {
        if (plan.trace != nullptr && !records) {
            if (!run.advance(plan.trace_after)) return false;
            run.record(plan.trace);
            records = true;
        }
        return run.advance(n);
    };
    const bool runs = goal.reach(point, advance, measured);
    if (!runs) return unexpected(at_rest);
    take_figures(run, point);
    if (plan.jump) point.cannot_jump = obstacle(s);
    return point;
}

RetryPoint run_model(const RetrySettings& s, const RetryPlan& plan, const RetryLink& link) {
    Goal goal(plan, s);
    RetryModel run(link, faults_of(s, plan.seed), plan.jump, goal.pulse());
    RetryPoint point = point_of(s, link);
    goal.reach(
        point,
        [&](std::uint64_t n) {
            run.advance(n);
            return true;
        },
        [&] {
            point.totals = run.totals();
            return point.relative_error();
        });
    take_figures(run, point);
    if (plan.jump) point.cannot_jump = obstacle(s);
    return point;
}

}  // namespace

double RetryPoint::packets() const {
    return number(totals[RetryCount::accepted]);
}

double RetryPoint::resend_ratio() const {
    return number(totals[RetryCount::wasted]) / packets();
}

double RetryPoint::throughput() const {
    return packets() * link.unit.payload / number(totals[RetryCount::time]);
}

std::optional<double> RetryPoint::relative_error() const {
    const double n = packets();
    const double mean = resend_ratio();
    if (mean == 0) return std::nullopt;
    const double squared = number(totals[RetryCount::wasted_squared]) / n;
    return std::sqrt((squared - mean * mean) / n) / mean;
}

std::optional<double> RetryPoint::closed_ratio() const {
    if (!has_closed_form) return std::nullopt;
    return lab::resend_ratio(link.scheme, unit_error, link.costs);
}

std::optional<double> RetryPoint::closed_etr() const {
    const auto ratio = closed_ratio();
    if (!ratio) return std::nullopt;
    return etr_of(link.unit, *ratio);
}

std::optional<double> RetryPoint::deviation() const {
    const auto ratio = closed_ratio();
    if (!ratio || unit_error == 0) return std::nullopt;
    return (resend_ratio() - *ratio) /
           resend_ratio_error(link.scheme, unit_error, link.costs, packets());
}

Expected<RetryPoint> foreseen_point(const RetrySettings& settings) {
    const auto link = resolve(settings);
    if (!link) return tl::unexpected(link.error());
    return point_of(settings, *link);
}

Expected<RetryPoint> run_retry_point(const RetrySettings& settings, const RetryPlan& plan) {
    const auto link = resolve(settings);
    if (!link) return tl::unexpected(link.error());
    switch (settings.protocol) {
        case RetryProtocol::pcie: return run_engines<PcieEnd>(settings, plan, *link);
        case RetryProtocol::hippi6400: return run_engines<HippiEnd>(settings, plan, *link);
        case RetryProtocol::sp_am: return run_engines<AmGoBackNEnd>(settings, plan, *link);
        case RetryProtocol::sp_am_selective:
            return run_engines<AmSelectiveEnd>(settings, plan, *link);
        case RetryProtocol::rc: return run_engines<RcEnd>(settings, plan, *link);
        case RetryProtocol::uc: return run_engines<UcEnd>(settings, plan, *link);
        case RetryProtocol::go_back_n:
        case RetryProtocol::ideal: return run_model(settings, plan, *link);
    }
    return unexpected("no such protocol");
}

}  // namespace wireproof::lab
