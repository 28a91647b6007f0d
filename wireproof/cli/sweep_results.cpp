#include "wireproof/cli/sweep_results.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "wireproof/base/random.hpp"
#include "wireproof/lab/retry/loss_trace.hpp"
#include "wireproof/lab/retry/retry_presets.hpp"

namespace wireproof::cli {
namespace {

using lab::RetryCount;

double number(lab::Wide value) {
    return static_cast<double>(value);
}

// Whole numbers stay whole as long as JSON's readers can tell them apart.
SweepJson whole(lab::Wide value) {
    if (value <= ~std::uint64_t{0}) return static_cast<std::uint64_t>(value);
    return number(value);
}

// A point that was stopped may have taken no unit, and has no figures for one.
SweepJson finite(double value) {
    return std::isfinite(value) ? SweepJson(value) : SweepJson();
}

SweepJson maybe(std::optional<double> value) {
    return value ? finite(*value) : SweepJson();
}

std::string cell(const SweepJson& value) {
    if (value.is_null()) return "";
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string percent(const SweepJson& value) {
    return value.is_null() ? "-" : fmt::format("{:.2f}", value.get<double>() * 100);
}

constexpr std::array<const char*, 4> latency_names = {"p50", "p99", "p99.9", "max"};

// Of a protocol that resends, nothing.
lab::Wide lost_for_ever(const lab::RetrySettings& s, const lab::RetryTotals& totals) {
    return s.protocol == lab::RetryProtocol::uc ? totals[RetryCount::wasted] : 0;
}

// In seconds, where a preset says how long a byte takes.
SweepJson line_json(const lab::RetryPreset& preset, const lab::RetryPoint& point) {
    SweepJson json = {{"preset", preset.name},
                      {"line_rate", preset.bytes_per_second},
                      {"goodput", finite(point.throughput() * preset.bytes_per_second)}};
    for (std::size_t i = 0; i < latency_names.size(); ++i) {
        json["latency_ns"][latency_names[i]] =
            preset.nanoseconds(static_cast<double>(point.latency[i]));
    }
    if (!preset.link_layer_retry) return json;
    const lab::RetryTotals& totals = point.totals;
    json["sender"] = {{"LLR_TX_OK", whole(totals[RetryCount::units])},
                      {"LLR_TX_REPLAY", whole(totals[RetryCount::replays])}};
    json["receiver"] = {{"LLR_RX_EXPECTED_SEQ_GOOD", whole(totals[RetryCount::accepted])},
                        {"LLR_TX_ACK_CTL_OS", whole(totals[RetryCount::acks])},
                        {"LLR_TX_NACK_CTL_OS", whole(totals[RetryCount::naks])}};
    return json;
}

// For people: what the table has no column for.
std::string line_note(const SweepJson& line) {
    return fmt::format(
        "{}: {:.4g} of {:.4g} GB/s; latency {:.4g} ns, p99.9 {:.4g} ns\n", cell(line["preset"]),
        line["goodput"].get<double>() / 1e9, line["line_rate"].get<double>() / 1e9,
        line["latency_ns"]["p50"].get<double>(), line["latency_ns"]["p99.9"].get<double>());
}

// Of a field of `line` that is not as in `whole`, its name; empty: there is none. What is null in
// one line may be a number in another.
std::string not_as_in(const SweepJson& whole, const SweepJson& line) {
    for (const auto& [key, value] : whole.items()) {
        const auto at = line.find(key);
        if (at == line.end()) return key;
        const bool same = value.is_null()     ? at->is_null() || at->is_number()
                          : value.is_number() ? at->is_number()
                                              : at->type() == value.type();
        if (!same) return key;
        if (!value.is_object()) continue;
        if (std::string inner = not_as_in(value, *at); !inner.empty()) return inner;
    }
    return {};
}

}  // namespace

SweepJson sweep_key(const lab::RetrySettings& s, const lab::RetryPlan& plan) {
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
    if (s.preset != nullptr) key["preset"] = s.preset->name;
    if (s.loss_trace) key["loss_trace"] = fmt::format("{:016x}", s.loss_trace->digest());
    if (plan.packets > 0) {
        key["packets"] = plan.packets;
    } else {
        key["relative_error"] = plan.relative_error;
    }
    return key;
}

SweepJson sweep_json(const lab::RetrySettings& s, const lab::RetryPlan& plan,
                     const lab::RetryPoint& point) {
    const lab::RetryTotals& totals = point.totals;
    SweepJson json = {{"protocol", name_of(s.protocol)},
                      {"ber", s.bit_error},
                      {"packets", whole(totals[RetryCount::accepted])},
                      {"payload", s.payload},
                      {"etr", finite(point.etr())},
                      {"throughput", finite(point.throughput())},
                      {"relative_error", maybe(point.relative_error())},
                      {"closed_form", maybe(point.closed_etr())},
                      {"resent", whole(totals[RetryCount::resent])},
                      {"timeouts", whole(totals[RetryCount::timeouts])},
                      {"lost", whole(lost_for_ever(s, totals))},
                      {"resend_ratio", finite(point.resend_ratio())},
                      {"closed_ratio", maybe(point.closed_ratio())},
                      {"deviation", maybe(point.deviation())},
                      {"loop", point.link.loop},
                      {"buffer", point.link.buffer},
                      {"ack_every", point.link.ack_every},
                      {"timer", point.link.timer},
                      {"acks", whole(totals[RetryCount::acks])},
                      {"naks", whole(totals[RetryCount::naks])},
                      {"buffer_mean", point.kept_mean},
                      {"buffer_most", point.kept_most},
                      {"latency",
                       {{"p50", point.latency[0]},
                        {"p99", point.latency[1]},
                        {"p99.9", point.latency[2]},
                        {"max", point.latency[3]}}},
                      {"jumped", whole(point.jumped)}};
    if (!point.cannot_jump.empty()) json["cannot_jump"] = point.cannot_jump;
    if (s.preset != nullptr) json["line"] = line_json(*s.preset, point);
    if (point.stopped) json["stopped"] = true;
    json["asked"] = sweep_key(s, plan);
    return json;
}

std::string lacking(const SweepJson& line, const lab::RetrySettings& s,
                    const lab::RetryPlan& plan) {
    lab::RetryPoint blank;
    blank.totals[RetryCount::accepted] = 1;
    blank.has_closed_form = false;
    return not_as_in(sweep_json(s, plan, blank), line);
}

bool is_stopped(const SweepJson& point) {
    return point.contains("stopped");
}

void add_wall(SweepJson& point, const std::optional<SweepWall>& wall) {
    point["wall_seconds"] = wall ? SweepJson(wall->seconds) : SweepJson();
    point["frames_per_second"] = wall ? SweepJson(wall->frames_per_second) : SweepJson();
}

double sweep_frames(const lab::RetryPoint& point) {
    return number(point.totals[RetryCount::frames_forward] + point.totals[RetryCount::frames_back]);
}

std::string sweep_table(const std::vector<SweepJson>& points) {
    std::string text =
        fmt::format("{:<16}{:>7}{:>8}{:>8}{:>7}{:>7}{:>6}{:>7}{:>7}{:>7}\n", "protocol", "ber",
                    "payload", "packets", "ETR %", "closed", "dev", "thru %", "buffer", "p99.9");
    std::string notes;
    std::string lines;
    for (const SweepJson& p : points) {
        if (is_stopped(p)) continue;
        const std::string deviation =
            p["deviation"].is_null() ? "-" : fmt::format("{:+.1f}", p["deviation"].get<double>());
        text += fmt::format("{:<16}{:>7.2g}{:>8}{:>8.2g}{:>7}{:>7}{:>6}{:>7}{:>7}{:>7}\n",
                            cell(p["protocol"]), p["ber"].get<double>(), cell(p["payload"]),
                            p["packets"].get<double>(), percent(p["etr"]),
                            percent(p["closed_form"]), deviation, percent(p["throughput"]),
                            cell(p["buffer_most"]), cell(p["latency"]["p99.9"]));
        if (p.contains("line")) lines += line_note(p["line"]);
        if (p.contains("cannot_jump") && notes.empty()) {
            notes = fmt::format("simulated frame by frame because of {}\n", cell(p["cannot_jump"]));
        }
    }
    for (const SweepJson& p : points) {
        if (!is_stopped(p)) continue;
        text += fmt::format("stopped: {}, ber {:.2g}, payload {}, after {:.2g} packets\n",
                            cell(p["protocol"]), p["ber"].get<double>(), cell(p["payload"]),
                            p["packets"].get<double>());
    }
    return text + lines + notes;
}

std::string sweep_csv(const std::vector<SweepJson>& points) {
    static constexpr std::array<const char*, 22> columns = {
        "protocol",       "ber",          "packets",      "payload",  "etr",       "throughput",
        "relative_error", "closed_form",  "resent",       "timeouts", "deviation", "loop",
        "buffer",         "ack_every",    "timer",        "acks",     "naks",      "buffer_mean",
        "buffer_most",    "resend_ratio", "closed_ratio", "lost"};
    std::string text;
    for (const char* const column : columns) text += std::string(column) + ",";
    text += "latency_p50,latency_p99,latency_p99.9,latency_max,preset,goodput,stopped\n";
    for (const SweepJson& point : points) {
        for (const char* const column : columns) text += cell(point[column]) + ",";
        const SweepJson& latency = point["latency"];
        text += cell(latency["p50"]) + "," + cell(latency["p99"]) + "," + cell(latency["p99.9"]) +
                "," + cell(latency["max"]) + ",";
        if (const auto line = point.find("line"); line != point.end()) {
            text += cell(line->at("preset")) + "," + cell(line->at("goodput"));
        } else {
            text += ",";
        }
        text += is_stopped(point) ? ",true\n" : ",\n";
    }
    return text;
}

std::uint64_t point_seed(const lab::RetrySettings& settings, std::uint64_t seed) {
    std::uint64_t digest = mix64(seed);
    for (const char c : sweep_key(settings, {.packets = 1, .seed = 0}).dump()) {
        digest = mix64(digest ^ static_cast<unsigned char>(c));
    }
    return digest;
}

}  // namespace wireproof::cli
