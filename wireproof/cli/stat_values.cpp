#include "wireproof/cli/stat_values.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <charconv>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/text.hpp"

namespace wireproof::cli {
namespace {

using StatJson = nlohmann::ordered_json;

constexpr auto stat_schema = "wireproof.stat/2";

std::string safe(const std::string& text) {
    return app::printable(std::as_bytes(std::span(text)));
}

std::string why_nothing(const host::PublishedProcess& process) {
    using Access = host::PublishedProcess::Access;
    if (process.access == Access::no_process) return "there is no such process";
    if (process.access == Access::refused) return "it is another user's";
    if (!process.skipped.empty()) return "what it shows is malformed";
    if (process.unpublished > 0) return "its file of counters is full";
    return "it has opened no Endpoint and no device, or it publishes none";
}

StatJson value_of(const std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stopped == end) return number;
    return text;
}

void add_details(StatJson& to, const host::CounterDetails& details) {
    for (const auto& [key, value] : details) to[key] = value_of(value);
}

/// "a.b" is to["a"]["b"]. A name that is also the beginning of another one is left out.
void add_counters(StatJson& to, const std::vector<host::PublishedCounter>& counters,
                  const std::vector<std::uint64_t>& values) {
    for (std::size_t i = 0; i < counters.size(); ++i) {
        StatJson* at = &to;
        std::string_view left = counters[i].name;
        for (std::size_t dot = left.find('.'); dot != left.npos && at->is_object();
             dot = left.find('.')) {
            at = &(*at)[std::string(left.substr(0, dot))];
            if (at->is_null()) *at = StatJson::object();
            left.remove_prefix(dot + 1);
        }
        if (at->is_object() && !at->contains(left)) (*at)[std::string(left)] = values[i];
    }
}

StatJson json_of(const StatOf& one) {
    const host::PublishedSection& counters = one.counters;
    StatJson whole;
    if (!one.is_endpoint()) whole["kind"] = one.is_verbs() ? "verbs" : "ib";
    add_details(whole, counters.details);
    whole["program"] = one.program;
    whole["process"] = one.process;
    whole["started_s"] = static_cast<double>(counters.started_unix_ns) * 1e-9;
    whole["age_s"] = static_cast<double>(counters.age_ns) * 1e-9;
    whole["consistent"] = counters.is_consistent;
    whole["rows_missing"] = counters.rows_missing;
    StatJson json;
    json[one.is_endpoint() ? "endpoint" : "device"] = std::move(whole);
    add_counters(json, counters.totals, counters.values);
    StatJson rows = StatJson::object();
    for (const host::PublishedRow& row : counters.rows) {
        StatJson of_row = StatJson::object();
        add_details(of_row, row.details);
        add_counters(of_row, counters.row_counters, row.values);
        rows[row.name] = std::move(of_row);
    }
    json[one.is_endpoint() ? "peers" : "queue_pairs"] = std::move(rows);
    return json;
}

}  // namespace

std::string detail_of(const host::CounterDetails& details, std::string_view key) {
    const auto found = std::ranges::find(details, key, &std::pair<std::string, std::string>::first);
    return found != details.end() ? found->second : "?";
}

std::string StatOf::detail(std::string_view key) const {
    return detail_of(counters.details, key);
}

std::vector<StatOf> read_stats(const std::vector<int>& processes) {
    std::vector<host::PublishedProcess> read;
    if (processes.empty()) read = host::read_all_counters();
    for (const int process : processes) read.push_back(host::read_counters(process));
    std::vector<StatOf> all;
    for (host::PublishedProcess& process : read) {
        for (const std::string& what : process.skipped) {
            app::tell(fmt::format("wireproof: process {}, {}; skipped", process.process, what));
        }
        if (process.sections.empty() && !processes.empty()) {
            throw app::Failure(fmt::format("process {} shows no counters: {}", process.process,
                                           why_nothing(process)));
        }
        for (host::PublishedSection& section : process.sections) {
            for (auto& [key, value] : section.details) key = safe(key), value = safe(value);
            for (host::PublishedRow& row : section.rows) {
                for (auto& [key, value] : row.details) key = safe(key), value = safe(value);
            }
            all.push_back({process.process, safe(process.program), std::move(section)});
        }
        if (process.unpublished > 0) {
            app::tell(
                fmt::format("wireproof: process {} has {} more Endpoints or devices, but its "
                            "file of counters is full",
                            process.process, process.unpublished));
        }
    }
    return all;
}

std::string stat_json(const std::vector<StatOf>& all) {
    StatJson json = {{"schema", stat_schema}};
    json["devices"] = json["endpoints"] = StatJson::array();
    for (const StatOf& one : all) {
        json[one.is_endpoint() ? "endpoints" : "devices"].push_back(json_of(one));
    }
    return json.dump() + "\n";
}

}  // namespace wireproof::cli
