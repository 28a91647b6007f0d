#include "wireproof/lab/sweep/sweep_point.hpp"

#include <cmath>

#include "wireproof/lab/link_retry/retry_presets.hpp"

namespace wireproof::lab {
namespace {

std::optional<double> finite(std::optional<double> value) {
    return value && std::isfinite(*value) ? value : std::nullopt;
}

}  // namespace

std::optional<SweepLine> sweep_line(const RetrySettings& settings, const RetryPoint& point) {
    if (!point.link.line) return std::nullopt;
    const UnitLineTerms& terms = *point.link.line;
    SweepLine line{.terms = terms,
                   .event = unit_event(terms, settings.bit_error),
                   .failure = point.unit_error,
                   .undetected = unit_undetected(terms, settings.bit_error),
                   .bytes_per_second = point.link.bytes_per_second,
                   .counts = point.line_counts};
    if (line.bytes_per_second > 0) {
        line.failures_in_time = failures_in_time(terms, settings.bit_error, line.bytes_per_second);
    }
    return line;
}

SweepPoint sweep_point(const RetrySettings& settings, const RetryPoint& point) {
    const RetryTotals& totals = point.totals;
    const bool resends = settings.protocol != RetryProtocol::uc;
    const auto shown = [&point](std::optional<double> value) {
        return point.shows_closed_form() ? finite(value) : std::nullopt;
    };
    return {.settings = settings,
            .packets = totals[RetryCount::accepted],
            .sent = totals[RetryCount::units],
            .resent = totals[RetryCount::resent],
            .lost = resends ? 0 : totals[RetryCount::wasted],
            .jumped = point.jumped,
            .replays = totals[RetryCount::replays],
            .timeouts = totals[RetryCount::timeouts],
            .acks = totals[RetryCount::acks],
            .naks = totals[RetryCount::naks],
            .etr = finite(point.etr()),
            .throughput = finite(point.throughput()),
            .resend_ratio = finite(point.resend_ratio()),
            .relative_error = finite(point.relative_error()),
            .closed_etr = shown(point.closed_etr()),
            .closed_ratio = shown(point.closed_ratio()),
            .deviation = shown(point.deviation()),
            .closed_at_edge = point.has_closed_form && point.domain == FormDomain::edge,
            .loop = point.link.loop,
            .buffer = point.link.buffer,
            .ack_every = point.link.ack_every,
            .timer = point.link.timer,
            .kept_mean = point.kept_mean,
            .kept_most = point.kept_most,
            .latency = point.latency,
            .line = sweep_line(settings, point),
            .cannot_jump = std::string(point.cannot_jump),
            .stopped = point.stopped};
}

std::optional<double> goodput(const SweepPoint& point) {
    if (!point.throughput) return std::nullopt;
    return *point.throughput * point.settings.preset->bytes_per_second;
}

double nanoseconds(const SweepPoint& point, std::size_t latency) {
    return point.settings.preset->nanoseconds(static_cast<double>(point.latency[latency]));
}

}  // namespace wireproof::lab
