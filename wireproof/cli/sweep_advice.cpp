#include "wireproof/cli/sweep_advice.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/cli/names.hpp"

namespace wireproof::cli {
namespace {

using Json = nlohmann::ordered_json;
using lab::Advice;
using lab::AdviceLine;

/// A number of at least 0 and the text after it.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || !std::isfinite(value) || value < 0) return std::nullopt;
    return std::pair(value, text.substr(static_cast<std::size_t>(end - text.data())));
}

double nanoseconds(const AdviceLine& line, double bytes) {
    return bytes / line.bytes_per_second * 1e9;
}

std::string time_text(double ns) {
    return ns < 10'000 ? fmt::format("{:.4g} ns", ns) : fmt::format("{:.4g} us", ns / 1000);
}

std::string size_text(double bytes) {
    if (bytes < 10'000) return fmt::format("{:.0f} B", bytes);
    return bytes < 1e7 ? fmt::format("{:.4g} kB", bytes / 1e3)
                       : fmt::format("{:.4g} MB", bytes / 1e6);
}

struct Row {
    std::string_view protocol;
    Expected<Advice> advice;
};

std::string table_of(const std::vector<Row>& rows, const AdviceLine& line, std::uint64_t seed) {
    std::string text =
        fmt::format("{:.4g} Gbit/s, {:.4g} m, ", line.bytes_per_second * 8e-9, line.metres);
    if (line.delay_seconds > 0)
        text += fmt::format("{:.4g} ns of delay, ", line.delay_seconds * 1e9);
    text += fmt::format("bit error rate {:.3g}, seed {}\n\n", line.bit_error, seed);
    text += fmt::format("{:<16}{:>8}{:>11}{:>12}{:>12}{:>12}\n", "protocol", "buffer", "memory",
                        "timer", "throughput", "of endless");
    for (const auto& [protocol, advice] : rows) {
        if (!advice) continue;
        const double memory = advice->settings.buffer * advice->link.unit.bytes();
        text +=
            fmt::format("{:<16}{:>8}{:>11}{:>12}{:>10.2f} %{:>10.2f} %{}\n", protocol,
                        advice->settings.buffer, size_text(memory),
                        time_text(nanoseconds(line, static_cast<double>(advice->settings.timer))),
                        advice->throughput * 100, advice->throughput / advice->endless * 100,
                        advice->reached ? "" : " *");
    }
    text += wrapped(
        "\nThe buffer is the smallest that keeps 99 % of the throughput of an endless one, in "
        "units that may be unacknowledged. The timer is the shortest that does not expire while "
        "the line "
        "is clean.",
        80);
    const auto short_of = [](const Row& row) { return row.advice && !row.advice->reached; };
    if (std::any_of(rows.begin(), rows.end(), short_of)) {
        text += "\n" + wrapped("* The protocol has no larger buffer: its numbers end there.", 80);
    }
    text += "\n";
    for (const auto& [protocol, advice] : rows) {
        if (!advice) {
            text += fmt::format("\n{}: {}\n", protocol, advice.error().message);
            continue;
        }
        text += fmt::format("\n{}, {} B of payload a unit, loop {}\n", protocol,
                            advice->link.unit.payload,
                            time_text(nanoseconds(line, static_cast<double>(advice->link.loop))));
        for (const lab::AdvisedLimit& limit : advice->limits) {
            std::string row = fmt::format("  {:<27}{:>10.0f} {:<7}{}", limit.name, limit.value,
                                          limit.unit, limit.why);
            row.erase(row.find_last_not_of(' ') + 1);
            text += row + "\n";
        }
    }
    return text;
}

std::string json_of(const std::vector<Row>& rows, const AdviceLine& line, std::uint64_t seed) {
    Json out = {{"schema", "wireproof.advice/1"},
                {"seed", seed},
                {"bits_per_second", line.bytes_per_second * 8},
                {"metres", line.metres},
                {"delay_ns", line.delay_seconds * 1e9},
                {"bit_error_rate", line.bit_error}};
    out["protocols"] = Json::array();
    for (const auto& [protocol, advice] : rows) {
        Json& row = out["protocols"].emplace_back(Json{{"protocol", protocol}});
        if (!advice) {
            row["error"] = advice.error().message;
            continue;
        }
        row["buffer"] = advice->settings.buffer;
        row["unit_bytes"] = advice->link.unit.bytes();
        row["payload_bytes"] = advice->link.unit.payload;
        row["loop_bytes"] = advice->link.loop;
        row["timer_bytes"] = advice->settings.timer;
        row["timer_ns"] = nanoseconds(line, static_cast<double>(advice->settings.timer));
        row["throughput"] = advice->throughput;
        row["throughput_endless"] = advice->endless;
        row["reached"] = advice->reached;
        row["limits"] = Json::array();
        for (const lab::AdvisedLimit& limit : advice->limits) {
            row["limits"].push_back({{"name", limit.name},
                                     {"value", limit.value},
                                     {"unit", limit.unit},
                                     {"why", limit.why}});
        }
    }
    return out.dump() + "\n";
}

}  // namespace

std::optional<double> parse_rate(std::string_view text) {
    const auto parsed = number_and_unit(text);
    if (!parsed || parsed->first == 0 || parsed->second.size() > 1) return std::nullopt;
    if (parsed->second.empty()) return parsed->first;
    switch (parsed->second.front() | 0x20) {
        case 'k': return parsed->first * 1e3;
        case 'm': return parsed->first * 1e6;
        case 'g': return parsed->first * 1e9;
        case 't': return parsed->first * 1e12;
        default: return std::nullopt;
    }
}

std::optional<double> parse_length(std::string_view text) {
    const auto parsed = number_and_unit(text);
    if (!parsed) return std::nullopt;
    if (parsed->second == "m") return parsed->first;
    if (parsed->second == "km") return parsed->first * 1000;
    return std::nullopt;
}

std::string advice_for(const AdviceLine& line, const lab::RetryPlan& plan, bool json) {
    const std::vector<lab::RetryProtocol> protocols = lab::advised_protocols();
    std::vector<Row> rows;
    {
        app::Progress bar("simulating", protocols.size());
        lab::RetryPlan own = plan;
        own.progress = [](double) { app::check_interrupt(); };
        for (const lab::RetryProtocol protocol : protocols) {
            rows.push_back({name_of(protocol), lab::advise(protocol, line, own)});
            bar.show(rows.size());
        }
    }
    const auto failed = [](const Row& row) { return !row.advice; };
    if (std::all_of(rows.begin(), rows.end(), failed))
        throw app::Failure(rows.front().advice.error().message);
    return json ? json_of(rows, line, plan.seed) : table_of(rows, line, plan.seed);
}

}  // namespace wireproof::cli
