// Implements the public header with the parts of the laboratory.
#include "wireproof/lab.hpp"

#include "wireproof/lab/ladder/ladder_render.hpp"
#include "wireproof/lab/ladder/scenario_file.hpp"
#include "wireproof/lab/link_retry/retry_ladder.hpp"

namespace wireproof::lab {
namespace {

Expected<RetrySettings> settings_of(const PointSettings& s) {
    const auto protocol = retry_protocol(s.protocol);
    if (!protocol) {
        std::string names;
        for (const std::string_view name : retry_protocol_names) {
            if (!names.empty()) names += ", ";
            names += name;
        }
        return unexpected("no protocol is called " + s.protocol + "; there are " + names);
    }
    RetrySettings settings;
    settings.protocol = *protocol;
    settings.bit_error = s.bit_error_rate;
    settings.clean_back = s.clean_back;
    settings.notice_loss = s.notice_loss;
    settings.bursts = {.begin = s.bursts.begin, .end = s.bursts.end, .loss_in_burst = s.bursts.bad};
    settings.payload = s.payload;
    settings.loop = s.loop;
    settings.buffer = s.buffer;
    settings.ack_every = s.ack_every;
    settings.timer = s.timer;
    settings.renak_on_bad_head = s.renak_on_bad_head;
    settings.loaded_back = s.loaded_back;
    return settings;
}

RetryPlan plan_of(const PointPlan& p) {
    RetryPlan plan;
    plan.packets = p.packets;
    plan.relative_error = p.relative_error;
    plan.packets_max = p.packets_max;
    plan.jump = p.jump;
    plan.seed = p.seed;
    plan.progress = p.progress;
    return plan;
}

Expected<void> check(const PointPlan& p) {
    if (p.packets == 0 && !(p.relative_error > 0)) {
        return unexpected("a relative error is more than 0");
    }
    if (p.packets == 0 && p.packets_max == 0) {
        return unexpected("a point has at least one packet");
    }
    return {};
}

PointFigures figures_of(const RetryPoint& point) {
    const RetryTotals& totals = point.totals;
    PointFigures figures;
    figures.packets = point.packets();
    figures.etr = point.etr();
    figures.throughput = point.throughput();
    figures.resend_ratio = point.resend_ratio();
    figures.relative_error = point.relative_error();
    if (point.shows_closed_form()) {
        figures.closed_etr = point.closed_etr();
        figures.closed_ratio = point.closed_ratio();
        figures.deviation = point.deviation();
        figures.closed_at_edge = point.domain == FormDomain::edge;
    }
    figures.resent = number(totals[RetryCount::resent]);
    figures.timeouts = number(totals[RetryCount::timeouts]);
    figures.notices = number(totals[RetryCount::naks]);
    figures.acks = number(totals[RetryCount::acks]);
    figures.frames = number(totals[RetryCount::frames_forward] + totals[RetryCount::frames_back]);
    figures.line_bytes = number(totals[RetryCount::time]);
    figures.jumped = number(point.jumped);
    figures.unit_bytes = point.link.unit.bytes();
    figures.buffer_mean = point.kept_mean;
    figures.buffer_most = point.kept_most;
    figures.latency = point.latency;
    return figures;
}

Result<DrawnLadder> drawn(const Expected<Ladder>& ladder) {
    if (!ladder) return Result<DrawnLadder>::failure(ladder.error().message);
    return DrawnLadder{ladder->name, text_of(*ladder), svg_of(*ladder), ladder->frames.size()};
}

}  // namespace

std::vector<std::string_view> point_protocols() {
    return {retry_protocol_names.begin(), retry_protocol_names.end()};
}

Result<PointFigures> run_point(const PointSettings& settings, const PointPlan& plan) {
    const auto own = settings_of(settings);
    if (!own) return Result<PointFigures>::failure(own.error().message);
    if (const auto good = check(plan); !good) {
        return Result<PointFigures>::failure(good.error().message);
    }
    const auto point = run_retry_point(*own, plan_of(plan));
    if (!point) return Result<PointFigures>::failure(point.error().message);
    return figures_of(*point);
}

Result<DrawnLadder> draw_first_failure(const PointSettings& settings, const PointPlan& plan) {
    const auto own = settings_of(settings);
    if (!own) return Result<DrawnLadder>::failure(own.error().message);
    if (const auto good = check(plan); !good) {
        return Result<DrawnLadder>::failure(good.error().message);
    }
    return drawn(run_retry_ladder(*own, plan_of(plan)));
}

Result<DrawnLadder> draw_scenario(std::string_view toml) {
    const auto scenario = read_scenario(toml, "scenario");
    if (!scenario) return Result<DrawnLadder>::failure(scenario.error().message);
    return drawn(run_scenario(*scenario));
}

}  // namespace wireproof::lab
