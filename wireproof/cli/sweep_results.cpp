#include "wireproof/cli/sweep_results.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wireproof/base/random.hpp"

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

SweepJson maybe(std::optional<double> value) {
    return value ? SweepJson(*value) : SweepJson();
}

std::string cell(const SweepJson& value) {
    if (value.is_null()) return "";
    return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string percent(const SweepJson& value) {
    return value.is_null() ? "-" : fmt::format("{:.2f}", value.get<double>() * 100);
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
                      {"etr", point.etr()},
                      {"throughput", point.throughput()},
                      {"relative_error", maybe(point.relative_error())},
                      {"closed_form", maybe(point.closed_etr())},
                      {"resent", whole(totals[RetryCount::resent])},
                      {"timeouts", whole(totals[RetryCount::timeouts])},
                      {"resend_ratio", point.resend_ratio()},
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
    json["asked"] = sweep_key(s, plan);
    return json;
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
        fmt::format("{:<9}{:>8}{:>8}{:>9}{:>8}{:>8}{:>7}{:>8}{:>7}{:>8}\n", "protocol", "ber",
                    "payload", "packets", "ETR %", "closed", "dev", "thru %", "buffer", "p99.9");
    std::string notes;
    for (const SweepJson& p : points) {
        const std::string deviation =
            p["deviation"].is_null() ? "-" : fmt::format("{:+.1f}", p["deviation"].get<double>());
        text += fmt::format("{:<9}{:>8.2g}{:>8}{:>9.2g}{:>8}{:>8}{:>7}{:>8}{:>7}{:>8}\n",
                            cell(p["protocol"]), p["ber"].get<double>(), cell(p["payload"]),
                            p["packets"].get<double>(), percent(p["etr"]),
                            percent(p["closed_form"]), deviation, percent(p["throughput"]),
                            cell(p["buffer_most"]), cell(p["latency"]["p99.9"]));
        if (p.contains("cannot_jump") && notes.empty()) {
            notes = fmt::format("simulated frame by frame because of {}\n", cell(p["cannot_jump"]));
        }
    }
    return text + notes;
}

std::string sweep_csv(const std::vector<SweepJson>& points) {
    static constexpr std::array<const char*, 21> columns = {
        "protocol",       "ber",          "packets",     "payload",  "etr",       "throughput",
        "relative_error", "closed_form",  "resent",      "timeouts", "deviation", "loop",
        "buffer",         "ack_every",    "timer",       "acks",     "naks",      "buffer_mean",
        "buffer_most",    "resend_ratio", "closed_ratio"};
    std::string text;
    for (const char* const column : columns) text += std::string(column) + ",";
    text += "latency_p50,latency_p99,latency_p99.9,latency_max\n";
    for (const SweepJson& point : points) {
        for (const char* const column : columns) text += cell(point[column]) + ",";
        const SweepJson& latency = point["latency"];
        text += cell(latency["p50"]) + "," + cell(latency["p99"]) + "," + cell(latency["p99.9"]) +
                "," + cell(latency["max"]) + "\n";
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
