#include "wireproof/app/sweep/sweep_results.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "wireproof/base/random.hpp"
#include "wireproof/lab/link_retry/loss_trace.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"

namespace wireproof::cli {
namespace {

using lab::RetryCount;

double number(lab::Wide value) {
    return static_cast<double>(value);
}

// Whole numbers stay whole as long as readers of JSON can represent them.
SweepJson whole(lab::Wide value) {
    if (value <= ~std::uint64_t{0}) return static_cast<std::uint64_t>(value);
    return number(value);
}

lab::Wide whole_of(const SweepJson& value) {
    if (value.is_number_unsigned()) return value.get<std::uint64_t>();
    // No run writes such values. Reads as much of them as fits.
    constexpr double most = 1e38;
    const double read = value.is_number() ? value.get<double>() : 0;
    return read > 0 ? static_cast<lab::Wide>(std::min(read, most)) : 0;
}

template <class Word>
Word word_of(const SweepJson& value) {
    return static_cast<Word>(whole_of(value));
}

SweepJson maybe(std::optional<double> value) {
    return value ? SweepJson(*value) : SweepJson();
}

std::optional<double> maybe_of(const SweepJson& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string cell(const SweepJson& value) {
    if (value.is_null()) return "";
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string percent(std::optional<double> value) {
    return value ? fmt::format("{:.2f}", *value * 100) : "-";
}

constexpr std::array<const char*, 4> latency_names = {"p50", "p99", "p99.9", "max"};

std::optional<double> goodput(const lab::SweepPoint& point) {
    if (!point.throughput) return std::nullopt;
    return *point.throughput * point.settings.preset->bytes_per_second;
}

double nanoseconds(const lab::SweepPoint& point, std::size_t latency) {
    return point.settings.preset->nanoseconds(static_cast<double>(point.latency[latency]));
}

// In seconds, if a preset gives the time of a byte.
SweepJson line_json(const lab::SweepPoint& point) {
    const lab::RetryPreset& preset = *point.settings.preset;
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

// For readers: the figures for which the table has no column.
std::string line_note(const lab::SweepPoint& point) {
    const lab::RetryPreset& preset = *point.settings.preset;
    return fmt::format("{}: {:.4g} of {:.4g} GB/s; latency {:.4g} ns, p99.9 {:.4g} ns\n",
                       preset.name, goodput(point).value() / 1e9, preset.bytes_per_second / 1e9,
                       nanoseconds(point, 0), nanoseconds(point, 2));
}

SweepJson unit_line_json(const lab::SweepLine& line) {
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

// For readers.
std::string unit_line_note(const lab::SweepPoint& point) {
    const lab::SweepLine& line = *point.line;
    std::string text = fmt::format(
        "{}: FEC {}, x{}, bursts of {}; of the units {:.3g} meet errors and {:.3g} fail;\n"
        "  {} found by the code, {} miscorrected and found by the CRC; undetected {:.2g}",
        name_of(point.settings.protocol), line.terms.corrects ? "on" : "off", line.terms.lanes,
        line.terms.burst_bits, line.event, line.failure, line.counts.detected,
        line.counts.miscorrected, line.undetected);
    if (line.failures_in_time) {
        text += fmt::format(",\n  {:.2g} FIT at {:.4g} GB/s", *line.failures_in_time,
                            line.bytes_per_second / 1e9);
    }
    return text + "\n";
}

// The name of the first field of `whole` that is missing or different in `line`; empty if none. A
// null in `whole` may be a number in `line`.
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
    if (s.fec != lab::RetryFec::own) key["fec"] = s.fec == lab::RetryFec::on;
    if (s.burst_bits > 0) key["burst_bits"] = s.burst_bits;
    if (s.lanes > 0) key["lanes"] = s.lanes;
    if (s.lane_correlation > 0) key["lane_correlation"] = s.lane_correlation;
    if (s.loss_trace) key["loss_trace"] = fmt::format("{:016x}", s.loss_trace->digest());
    if (plan.packets > 0) {
        key["packets"] = plan.packets;
    } else {
        key["relative_error"] = plan.relative_error;
    }
    return key;
}

SweepJson sweep_json(const lab::SweepPoint& point, const lab::RetryPlan& plan) {
    const lab::RetrySettings& s = point.settings;
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

std::string lacking(const SweepJson& line, const lab::RetrySettings& s,
                    const lab::RetryPlan& plan) {
    lab::RetryPoint blank;
    blank.totals[RetryCount::accepted] = 1;
    blank.has_closed_form = false;
    if (const auto link = lab::resolve(s)) blank.link = *link;
    return not_as_in(sweep_json(lab::sweep_point(s, blank), plan), line);
}

lab::SweepPoint read_sweep_point(const SweepJson& line, const lab::RetrySettings& settings) {
    lab::SweepPoint point{.settings = settings,
                          .packets = whole_of(line["packets"]),
                          .resent = whole_of(line["resent"]),
                          .lost = whole_of(line["lost"]),
                          .jumped = whole_of(line["jumped"]),
                          .timeouts = whole_of(line["timeouts"]),
                          .acks = whole_of(line["acks"]),
                          .naks = whole_of(line["naks"]),
                          .etr = maybe_of(line["etr"]),
                          .throughput = maybe_of(line["throughput"]),
                          .resend_ratio = maybe_of(line["resend_ratio"]),
                          .relative_error = maybe_of(line["relative_error"]),
                          .closed_etr = maybe_of(line["closed_form"]),
                          .closed_ratio = maybe_of(line["closed_ratio"]),
                          .deviation = maybe_of(line["deviation"]),
                          .loop = word_of<std::uint64_t>(line["loop"]),
                          .buffer = word_of<std::uint32_t>(line["buffer"]),
                          .ack_every = word_of<std::uint32_t>(line["ack_every"]),
                          .timer = word_of<std::uint64_t>(line["timer"]),
                          .kept_mean = line["buffer_mean"].get<double>(),
                          .kept_most = word_of<std::uint64_t>(line["buffer_most"])};
    for (std::size_t i = 0; i < latency_names.size(); ++i) {
        point.latency[i] = word_of<std::uint64_t>(line["latency"][latency_names[i]]);
    }
    if (const auto why = line.find("cannot_jump"); why != line.end() && why->is_string()) {
        point.cannot_jump = why->get<std::string>();
    }
    if (const auto foreseen = lab::foreseen_point(settings)) {
        point.line = lab::sweep_line(settings, *foreseen);
    }
    if (point.line) {
        const SweepJson& counts = line["unit_line"];
        point.line->counts = {word_of<std::uint64_t>(counts["detected"]),
                              word_of<std::uint64_t>(counts["miscorrected"])};
    }
    if (settings.preset != nullptr && settings.preset->link_layer_retry) {
        const SweepJson& sender = line["line"]["sender"];
        point.sent = whole_of(sender["LLR_TX_OK"]);
        point.replays = whole_of(sender["LLR_TX_REPLAY"]);
    }
    return point;
}

void add_wall(SweepJson& point, const std::optional<SweepWall>& wall) {
    point["wall_seconds"] = wall ? SweepJson(wall->seconds) : SweepJson();
    point["frames_per_second"] = wall ? SweepJson(wall->frames_per_second) : SweepJson();
}

double sweep_frames(const lab::RetryPoint& point) {
    return number(point.totals[RetryCount::frames_forward] + point.totals[RetryCount::frames_back]);
}

namespace {

/// At most six columns: 123456, 1.2e6. So a space always separates it from what is before it.
std::string in_six_columns(std::uint64_t value) {
    if (value < 1'000'000) return std::to_string(value);
    const auto exponent = static_cast<int>(std::floor(std::log10(static_cast<double>(value))));
    return fmt::format("{:.1f}e{}", static_cast<double>(value) / std::pow(10, exponent), exponent);
}

std::string in_five_columns(double deviation) {
    return std::abs(deviation) < 99.95   ? fmt::format("{:+.1f}", deviation)
           : std::abs(deviation) < 9'999 ? fmt::format("{:+.0f}", deviation)
                                         : (deviation > 0 ? ">9999" : "<-999");
}

}  // namespace

std::string sweep_table(const std::vector<lab::SweepPoint>& points) {
    std::string text =
        fmt::format("{:<16}{:>7}{:>8}{:>8}{:>7}{:>7}{:>6}{:>7}{:>7}{:>7}\n", "protocol", "ber",
                    "payload", "packets", "ETR %", "closed", "dev", "thru %", "buffer", "p99.9");
    std::string notes;
    std::string lines;
    for (const lab::SweepPoint& p : points) {
        if (p.stopped) continue;
        const std::string deviation = p.deviation ? in_five_columns(*p.deviation) : "-";
        text += fmt::format("{:<16}{:>7.2g}{:>8}{:>8.2g}{:>7}{:>7}{:>6}{:>7}{:>7}{:>7}\n",
                            name_of(p.settings.protocol), p.settings.bit_error, p.settings.payload,
                            number(p.packets), percent(p.etr), percent(p.closed_etr), deviation,
                            percent(p.throughput), p.kept_most, in_six_columns(p.latency[2]));
        if (p.settings.preset != nullptr) lines += line_note(p);
        if (p.line) lines += unit_line_note(p);
        if (!p.cannot_jump.empty() && notes.empty()) {
            notes = fmt::format("simulated frame by frame because of {}\n", p.cannot_jump);
        }
    }
    for (const lab::SweepPoint& p : points) {
        if (!p.stopped) continue;
        text += fmt::format("stopped: {}, ber {:.2g}, payload {}, after {:.2g} packets\n",
                            name_of(p.settings.protocol), p.settings.bit_error, p.settings.payload,
                            number(p.packets));
    }
    return text + lines + notes;
}

std::string sweep_csv(const std::vector<lab::SweepPoint>& points) {
    static constexpr std::array<const char*, 22> columns = {
        "protocol",       "ber",          "packets",      "payload",  "etr",       "throughput",
        "relative_error", "closed_form",  "resent",       "timeouts", "deviation", "loop",
        "buffer",         "ack_every",    "timer",        "acks",     "naks",      "buffer_mean",
        "buffer_most",    "resend_ratio", "closed_ratio", "lost"};
    std::string text;
    for (const char* const column : columns) text += std::string(column) + ",";
    text += "latency_p50,latency_p99,latency_p99.9,latency_max,preset,goodput,stopped";
    static constexpr std::array<const char*, 5> of_units = {"fec", "burst_bits", "failure",
                                                            "miscorrected", "fit"};
    const bool units =
        std::ranges::any_of(points, [](const auto& p) { return p.line.has_value(); });
    for (const char* const column : of_units) {
        if (units) text += std::string(",") + column;
    }
    text += "\n";
    for (const lab::SweepPoint& point : points) {
        // Numbers in a cell are formatted as in JSON.
        SweepJson json = sweep_json(point, {});
        for (const char* const column : columns) text += cell(json[column]) + ",";
        for (const std::uint64_t latency : point.latency) text += fmt::format("{},", latency);
        if (const auto line = json.find("line"); line != json.end()) {
            text += cell(line->at("preset")) + "," + cell(line->at("goodput"));
        } else {
            text += ",";
        }
        text += point.stopped ? ",true" : ",";
        for (const char* const column : of_units) {
            if (units) text += "," + (point.line ? cell(json["unit_line"][column]) : "");
        }
        text += "\n";
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
