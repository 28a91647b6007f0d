#include "wireproof/lab/sweep/sweep_json.hpp"

#include <nlohmann/json.hpp>

#include <charconv>

#include "wireproof/base/random.hpp"
#include "wireproof/lab/link_retry/loss_trace.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/lab/sweep/sweep_quantities.hpp"

namespace wireproof::lab {
namespace {

// Whole numbers stay whole as long as readers of JSON can represent them.
SweepJson whole(Wide value) {
    if (value <= ~std::uint64_t{0}) return static_cast<std::uint64_t>(value);
    return number(value);
}

SweepJson maybe(std::optional<double> value) {
    return value ? SweepJson(*value) : SweepJson();
}

// In seconds, if a preset gives the time of a byte.
SweepJson line_json(const SweepPoint& point) {
    const RetryPreset& preset = *point.settings.preset;
    SweepJson json = {{"preset", preset.name},
                      {"line_rate", preset.bytes_per_second},
                      {"goodput", maybe(goodput(point))}};
    for (std::size_t i = 0; i < latency_names.size(); ++i) {
        json["latency_ns"][latency_names[i]] = nanoseconds(point, i);
    }
    if (!preset.link_layer_retry) return json;
    json["sender"] = {{"LLR_TX_OK", whole(point.sent)}, {"LLR_TX_REPLAY", whole(point.replays)}};
    json["receiver"] = {{"LLR_RX_EXPECTED_SEQ_GOOD", whole(point.packets)},
                        {"LLR_TX_ACK_CTL_OS", whole(point.acks)},
                        {"LLR_TX_NACK_CTL_OS", whole(point.naks)}};
    return json;
}

SweepJson unit_line_json(const SweepLine& line) {
    return {{"fec", line.terms.corrects},
            {"unit", line.terms.unit},
            {"lanes", line.terms.lanes},
            {"burst_bits", line.terms.burst_bits},
            {"lane_correlation", line.terms.correlation},
            {"event", line.event},
            {"failure", line.failure},
            {"detected", line.counts.detected},
            {"miscorrected", line.counts.miscorrected},
            {"undetected", line.undetected},
            {"line_rate", line.bytes_per_second},
            {"fit", maybe(line.failures_in_time)}};
}

}  // namespace

SweepJson sweep_key(const RetrySettings& s, const RetryPlan& plan) {
    SweepJson key = {{"protocol", name_of(s.protocol)},
                     {"ber", s.bit_error},
                     {"payload", s.payload},
                     {"loop", s.loop},
                     {"buffer", s.buffer},
                     {"ack_every", s.ack_every},
                     {"timer", s.timer},
                     {"loaded_back", s.loaded_back},
                     {"clean_back", s.clean_back},
                     {"renak_on_bad_head", s.renak_on_bad_head},
                     {"notice_loss", s.notice_loss},
                     {"bursts", {s.bursts.begin, s.bursts.end, s.bursts.loss_in_burst}},
                     {"seed", plan.seed}};
    if (s.overhead > 0) key["overhead"] = s.overhead;
    if (s.preset != nullptr) key["preset"] = s.preset->name;
    if (s.fec != RetryFec::own) key["fec"] = s.fec == RetryFec::on;
    if (s.burst_bits > 0) key["burst_bits"] = s.burst_bits;
    if (s.lanes > 0) key["lanes"] = s.lanes;
    if (s.lane_correlation > 0) key["lane_correlation"] = s.lane_correlation;
    if (s.loss_trace) key["loss_trace"] = sixteen_digits(s.loss_trace->digest());
    if (plan.packets > 0) {
        key["packets"] = plan.packets;
    } else {
        key["relative_error"] = plan.relative_error;
        if (plan.packets_max != RetryPlan().packets_max) key["packets_max"] = plan.packets_max;
    }
    return key;
}

SweepJson sweep_json(const SweepPoint& point, const RetryPlan& plan) {
    const RetrySettings& s = point.settings;
    SweepJson json = {{"protocol", name_of(s.protocol)},
                      {"ber", s.bit_error},
                      {"packets", whole(point.packets)},
                      {"payload", s.payload},
                      {"etr", maybe(point.etr)},
                      {"throughput", maybe(point.throughput)},
                      {"relative_error", maybe(point.relative_error)},
                      {"closed_form", maybe(point.closed_etr)},
                      {"resent", whole(point.resent)},
                      {"timeouts", whole(point.timeouts)},
                      {"lost", whole(point.lost)},
                      {"resend_ratio", maybe(point.resend_ratio)},
                      {"closed_ratio", maybe(point.closed_ratio)},
                      {"deviation", maybe(point.deviation)},
                      {"closed_at_edge", point.closed_at_edge},
                      {"loop", point.loop},
                      {"buffer", point.buffer},
                      {"ack_every", point.ack_every},
                      {"timer", point.timer},
                      {"acks", whole(point.acks)},
                      {"naks", whole(point.naks)},
                      {"buffer_mean", point.kept_mean},
                      {"buffer_most", point.kept_most}};
    for (std::size_t i = 0; i < latency_names.size(); ++i) {
        json["latency"][latency_names[i]] = point.latency[i];
    }
    json["jumped"] = whole(point.jumped);
    if (!point.cannot_jump.empty()) json["cannot_jump"] = point.cannot_jump;
    if (s.preset != nullptr) json["line"] = line_json(point);
    if (point.line) json["unit_line"] = unit_line_json(*point.line);
    if (point.stopped) json["stopped"] = true;
    json["asked"] = sweep_key(s, plan);
    return json;
}

std::uint64_t point_seed(const RetrySettings& settings, std::uint64_t seed) {
    std::uint64_t digest = mix64(seed);
    for (const char c : sweep_key(settings, {.packets = 1, .seed = 0}).dump()) {
        digest = mix64(digest ^ static_cast<unsigned char>(c));
    }
    return digest;
}

}  // namespace wireproof::lab
