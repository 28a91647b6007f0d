#include "wireproof/app/sweep/sweep_results.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>

#include "wireproof/app/common/text.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"
#include "wireproof/lab/sweep/sweep_quantities.hpp"

namespace wireproof::app {
namespace {

using lab::RetryCount;

double to_number(lab::Wide value) {
    return static_cast<double>(value);
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

std::optional<double> maybe_of(const SweepJson& value) {
    return value.is_number() ? std::optional(value.get<double>()) : std::nullopt;
}

std::string cell(const SweepJson& value) {
    if (value.is_null()) return "";
    return value.is_string() ? value.get<std::string>() : value.dump();
}

// For readers: the figures for which the table has no column.
std::string line_note(const lab::SweepPoint& point) {
    const lab::RetryPreset& preset = *point.settings.preset;
    return fmt::format("{}: {:.4g} of {:.4g} GB/s; latency {:.4g} ns, p99.9 {:.4g} ns\n",
                       preset.name, goodput(point).value() / 1e9, preset.bytes_per_second / 1e9,
                       nanoseconds(point, 0), nanoseconds(point, 2));
}

// For readers.
std::string unit_line_note(const lab::SweepPoint& point) {
    const lab::SweepLine& line = *point.line;
    std::string text = fmt::format(
        "{}: FEC {}, x{}, bursts of {};\n"
        "  of the units {:.3g} meet errors and {:.3g} fail;\n",
        name_of(point.settings.protocol), line.terms.corrects ? "on" : "off", line.terms.lanes,
        line.terms.burst_bits, line.event, line.failure);
    text += line.terms.corrects
                ? fmt::format("  {} found by the code, {} miscorrected and found by the CRC;\n",
                              line.counts.detected, line.counts.miscorrected)
                : fmt::format("  {} found by the CRC;\n", line.counts.detected);
    text += fmt::format("  at most {:.2g} undetected", line.undetected);
    if (line.failures_in_time) {
        text += fmt::format(", at most {:.2g} FIT at {:.4g} GB/s", *line.failures_in_time,
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
    for (std::size_t i = 0; i < lab::latency_names.size(); ++i) {
        point.latency[i] = word_of<std::uint64_t>(line["latency"][lab::latency_names[i]]);
    }
    point.closed_at_edge = line["closed_at_edge"].get<bool>();
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
    return to_number(point.totals[RetryCount::frames_forward] +
                     point.totals[RetryCount::frames_back]);
}

namespace {

/// At most six columns: 123456, 1.2e6. So a space always separates it from what is before it.
std::string in_six_columns(std::uint64_t value) {
    if (value < 1'000'000) return std::to_string(value);
    const auto exponent = static_cast<int>(std::floor(std::log10(static_cast<double>(value))));
    return fmt::format("{:.1f}e{}", static_cast<double>(value) / std::pow(10, exponent), exponent);
}

/// The line of a point begins with it.
std::string_view row_name(const lab::SweepPoint& point) {
    const lab::RetryPreset* const preset = point.settings.preset;
    return preset != nullptr ? preset->name : name_of(point.settings.protocol);
}

/// Whether points with the same name differ in this quantity. Other differences come from the
/// presets.
bool varies_under_a_name(const std::map<std::string_view, std::vector<lab::SweepFigures>>& by_name,
                         std::size_t quantity) {
    return std::ranges::any_of(
        by_name, [&](const auto& points) { return lab::varies(points.second, quantity); });
}

/// For each point, the settings without a column of their own, if points with its name differ in
/// them.
std::vector<std::string> other_settings(const std::vector<lab::SweepPoint>& points) {
    const bool units =
        std::ranges::any_of(points, [](const auto& p) { return p.line.has_value(); });
    std::vector<lab::SweepFigures> figures;
    std::map<std::string_view, std::vector<lab::SweepFigures>> by_name;
    for (const lab::SweepPoint& point : points) {
        figures.push_back(
            {.settings = point.settings, .asked = quantities_of(point.settings, units)});
        by_name[row_name(point)].push_back(figures.back());
    }
    constexpr std::array<std::string_view, 6> columns = {"protocol", lab::bit_error_rate, "payload",
                                                         "loop",     "replay buffer",     "preset"};
    std::vector<std::string> texts(points.size());
    for (std::size_t i = 0; !points.empty() && i < figures.front().asked.size(); ++i) {
        if (std::ranges::find(columns, figures.front().asked[i].name) != columns.end()) continue;
        if (!varies_under_a_name(by_name, i)) continue;
        for (std::size_t point = 0; point < points.size(); ++point) {
            const std::string label = label_of(figures[point].asked[i]);
            if (label.empty()) continue;
            std::string& text = texts[point];
            const std::size_t line = text.size() - (text.rfind('\n') + 1);
            const bool fits = line + 2 + label.size() < 79;
            text += (text.empty() ? "  " : fits ? ", " : ",\n  ") + label;
        }
    }
    return texts;
}

std::string in_five_columns(double deviation) {
    return std::abs(deviation) < 99.95   ? fmt::format("{:+.1f}", deviation)
           : std::abs(deviation) < 9'999 ? fmt::format("{:+.0f}", deviation)
                                         : (deviation > 0 ? ">9999" : "<-999");
}

}  // namespace

std::string sweep_table(const std::vector<lab::SweepPoint>& points) {
    // A line has 80 columns. The name of a preset takes the place of the latency, which the lines
    // below the table have in nanoseconds.
    const bool presets =
        std::ranges::any_of(points, [](const auto& p) { return p.settings.preset != nullptr; });
    const int name_columns = presets ? 24 : 16;
    const std::vector<std::string> others = other_settings(points);
    std::string text = fmt::format("{:<{}}{:>7}{:>8}{:>7}{:>7}{:>7}{:>7}{:>6}{:>7}",
                                   presets ? "preset" : "protocol", name_columns, "ber", "payload",
                                   "loop", "buffer", "ETR %", "closed", "dev", "thru %");
    text += presets ? "\n" : fmt::format("{:>7}\n", "p99.9");
    std::string notes;
    std::string lines;
    for (std::size_t i = 0; i < points.size(); ++i) {
        const lab::SweepPoint& p = points[i];
        if (p.stopped) continue;
        const std::string deviation = p.deviation ? in_five_columns(*p.deviation) : "-";
        text += fmt::format("{:<{}}{:>7.2g}{:>8}{:>7}{:>7}{:>7}{:>7}{:>6}{:>7}", row_name(p),
                            name_columns, p.settings.bit_error, p.settings.payload,
                            in_six_columns(p.loop), p.buffer == 0 ? "-" : in_six_columns(p.buffer),
                            percent(p.etr, 2, "-"),
                            (p.closed_at_edge ? "~" : "") + percent(p.closed_etr, 2, "-"),
                            deviation, percent(p.throughput, 2, "-"));
        text += presets ? "\n" : fmt::format("{:>7}\n", in_six_columns(p.latency[2]));
        if (!others[i].empty()) text += others[i] + "\n";
        if (p.settings.preset != nullptr) lines += line_note(p);
        if (p.line) lines += unit_line_note(p);
        if (!p.cannot_jump.empty() && notes.empty()) {
            notes = fmt::format("simulated frame by frame because of {}\n", p.cannot_jump);
        }
    }
    for (const lab::SweepPoint& p : points) {
        if (!p.stopped) continue;
        text +=
            fmt::format("stopped: {}, ber {:.2g}, payload {}, after {:.2g} packets\n", row_name(p),
                        p.settings.bit_error, p.settings.payload, to_number(p.packets));
    }
    return text + lines + notes;
}

std::string sweep_csv(const std::vector<lab::SweepPoint>& points) {
    static constexpr std::array<const char*, 23> columns = {
        "protocol",     "ber",         "packets",        "payload",
        "etr",          "throughput",  "relative_error", "closed_form",
        "resent",       "timeouts",    "deviation",      "loop",
        "buffer",       "ack_every",   "timer",          "acks",
        "naks",         "buffer_mean", "buffer_most",    "resend_ratio",
        "closed_ratio", "lost",        "closed_at_edge"};
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

}  // namespace wireproof::app
