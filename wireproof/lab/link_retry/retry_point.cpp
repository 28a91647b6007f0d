#include "wireproof/lab/link_retry/retry_point.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "wireproof/lab/link_retry/retry_build.hpp"
#include "wireproof/lab/link_retry/retry_domain.hpp"
#include "wireproof/lab/link_retry/retry_goal.hpp"
#include "wireproof/lab/link_retry/retry_models.hpp"
#include "wireproof/lab/link_retry/retry_unit_line.hpp"

namespace wireproof::lab {
RetryFaults faults_of(const RetrySettings& s, const RetryLink& link, std::uint64_t seed) {
    return RetryFaults({.forward = s.bit_error,
                        .back = s.clean_back || s.protocol == RetryProtocol::uc ? 0 : s.bit_error,
                        .notice_loss = s.notice_loss,
                        .bursts = s.bursts,
                        .trace = s.loss_trace,
                        .line = link.line},
                       seed);
}

bool is_independent(const RetrySettings& s) {
    return s.bursts.begin == 0 && !s.loss_trace;
}

RetryPoint point_of(const RetrySettings& s, const RetryLink& link) {
    RetryPoint point;
    point.link = link;
    point.unit_error = frame_error(link, s.bit_error, link.unit.bytes());
    point.has_closed_form = is_independent(s) && !s.loaded_back;
    point.domain = form_domain(s, link, point.unit_error);
    const bool bursts = s.bursts.begin > 0 && s.bursts.loss_in_burst > 0;
    const bool recorded = s.loss_trace && s.loss_trace->bad_frames() > 0;
    point.meets_errors = s.bit_error > 0 || bursts || recorded;
    return point;
}

std::string_view jump_obstacle(const RetrySettings& s) {
    if (s.loss_trace) return "a recorded trace";
    if (s.bursts.begin > 0) return "bursts";
    if (s.notice_loss > 0) return "notices that are lost";
    return {};
}

namespace {

RetryPoint run_model(const RetrySettings& s, const RetryPlan& plan, const RetryLink& link) {
    RetryGoal goal(plan, s);
    RetryModel run(link, faults_of(s, link, plan.seed), plan.jump, goal.pulse());
    RetryPoint point = point_of(s, link);
    goal.reach(
        point,
        [&](std::uint64_t n) {
            run.advance(n);
            return true;
        },
        [&] {
            take_counts(run, point);
            return point.relative_error();
        });
    take_figures(run, point);
    if (plan.jump) point.cannot_jump = jump_obstacle(s);
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

namespace {

/// The variance of the resend ratio times the units, if the units were independent.
double independent_variance(const RetryPoint& point) {
    const double squared = number(point.totals[RetryCount::wasted_squared]) / point.packets();
    return squared - point.resend_ratio() * point.resend_ratio();
}

}  // namespace

std::optional<double> RetryPoint::relative_error() const {
    const double mean = resend_ratio();
    if (mean == 0) return std::nullopt;
    const double measured = std::sqrt(std::max(independent_variance(*this), variance) / packets());
    // A run may have met none of the rare failures that cost most.
    const double form = shows_closed_form()
                            ? resend_ratio_error(link.scheme, unit_error, link.costs, packets())
                            : 0;
    return std::max(measured, form) / mean;
}

double RetryPoint::dependence() const {
    const double independent = independent_variance(*this);
    return variance > independent && independent > 0 ? std::sqrt(variance / independent) : 1;
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
           (resend_ratio_error(link.scheme, unit_error, link.costs, packets()) * dependence());
}

Expected<RetryPoint> foreseen_point(const RetrySettings& settings) {
    const auto link = resolve(settings);
    if (!link) return tl::unexpected(link.error());
    return point_of(settings, *link);
}

Expected<RetryPoint> run_retry_point(const RetrySettings& settings, const RetryPlan& plan) {
    const auto link = resolve(settings);
    if (!link) return tl::unexpected(link.error());
    if (const LinkSweep* const of = link_sweep_of(settings.protocol)) {
        return LinkEngines::visit(of->engine, [&]<class Adapter>() {
            return Adapter::run_point(settings, of->sweep, plan, *link);
        });
    }
    switch (settings.protocol) {
        case RetryProtocol::sp_am: return run_am(settings, plan, *link, am::Recovery::go_back_n);
        case RetryProtocol::sp_am_selective:
            return run_am(settings, plan, *link, am::Recovery::selective);
        case RetryProtocol::rc: return run_rc(settings, plan, *link);
        case RetryProtocol::uc: return run_uc(settings, plan, *link);
        case RetryProtocol::go_back_n:
        case RetryProtocol::ideal: return run_model(settings, plan, *link);
        default: return unexpected("no such protocol");
    }
}

}  // namespace wireproof::lab
