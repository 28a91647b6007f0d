#include "wireproof/app/sweep/finished_points.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/version.hpp"
#include "wireproof/app/sweep/sweep_results.hpp"
#include "wireproof/base/crc.hpp"

namespace wireproof::app {
namespace {

SweepJson parsed(const std::string& line) {
    SweepJson point = SweepJson::parse(line, nullptr, false);
    return point.is_object() ? point : SweepJson::object();
}

// The last field of a line is a CRC of the text before it.
constexpr std::string_view check_begin = ",\"check\":\"";
constexpr std::string_view check_end = "\"}";
constexpr std::size_t check_digits = 8;

std::string check_of(std::string_view text) {
    return fmt::format("{}{:0{}x}{}", check_begin, Crc32::of(std::as_bytes(std::span(text))),
                       check_digits, check_end);
}

/// Whether the line has a check that does not fit. A line without one is of another version.
bool is_changed(std::string_view line) {
    const std::size_t size = check_begin.size() + check_digits + check_end.size();
    if (line.size() < size) return false;
    const std::string_view check = line.substr(line.size() - size);
    return check.starts_with(check_begin) && check != check_of(line.substr(0, line.size() - size));
}

/// The name of a field that this version would have written differently; empty if none.
std::string wrong_field(const SweepJson& point, const lab::RetrySettings& settings,
                        const lab::RetryPlan& plan) {
    if (std::string field = lacking(point, settings, plan); !field.empty()) return field;
    const auto by = point.find("version");
    if (by == point.end() || *by != version()) return "version";
    return point.contains("check") ? "" : "check";
}

[[noreturn]] void refuse(const std::string& place, const std::string& what) {
    throw Failure(
        fmt::format("{}: {}; to keep both, choose another name or another folder", place, what));
}

}  // namespace

std::string results_line(const lab::SweepPoint& point, const lab::RetryPlan& plan) {
    SweepJson json = sweep_json(point, plan);
    json["version"] = version();
    std::string line = json.dump();
    line.pop_back();  // the brace
    return line + check_of(line) + "\n";
}

lab::SweepPoint point_of_line(const std::string& line, const lab::RetrySettings& settings) {
    const SweepJson point = parsed(line);
    lab::SweepPoint read = read_sweep_point(point, settings);
    read.stopped = point.contains("stopped");
    return read;
}

FinishedPoints::FinishedPoints(const lab::Sweep& sweep) : plan_(sweep.plan) {
    for (const lab::RetrySettings& point : sweep.points) wanted_.emplace(key_of(point), point);
}

std::string FinishedPoints::key_of(const lab::RetrySettings& settings) const {
    return sweep_key(settings, plan_).dump();
}

void FinishedPoints::load(const std::string& text, const std::string& path) {
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = text.find('\n', at);
        const std::string line = text.substr(at, end - at);
        at = end + 1;
        const std::string place = fmt::format("{}:{}", path, ++number);
        if (is_changed(line)) refuse(place, "the line was changed: its check is wrong");
        const SweepJson point = parsed(line);
        const auto asked = point.find("asked");
        const auto wanted = asked == point.end() ? wanted_.end() : wanted_.find(asked->dump());
        if (wanted == wanted_.end()) refuse(place, "no point of this sweep");
        const lab::RetrySettings& settings = wanted->second;
        if (const std::string field = wrong_field(point, settings, plan_); !field.empty()) {
            refuse(place, fmt::format("\"{}\" is missing or not what it should be: another "
                                      "version wrote this point",
                                      field));
        }
        done_.insert_or_assign(wanted->first, read_sweep_point(point, settings));
    }
}

bool FinishedPoints::has(const lab::RetrySettings& settings) const {
    return done_.contains(key_of(settings));
}

void FinishedPoints::add(lab::SweepPoint point) {
    std::string key = key_of(point.settings);
    (point.stopped ? stopped_ : done_).insert_or_assign(std::move(key), std::move(point));
}

std::string FinishedPoints::text() const {
    std::vector<std::string> lines;
    for (const auto& [key, point] : done_) lines.push_back(results_line(point, plan_));
    std::sort(lines.begin(), lines.end());
    std::string text;
    for (const std::string& line : lines) text += line;
    return text;
}

std::vector<lab::SweepPoint> FinishedPoints::points(const lab::Sweep& sweep) const {
    std::vector<lab::SweepPoint> all;
    for (const lab::RetrySettings& point : sweep.points) {
        const std::string key = key_of(point);
        for (const auto* const points : {&done_, &stopped_}) {
            const auto at = points->find(key);
            if (at != points->end()) all.push_back(at->second);
        }
    }
    return all;
}

}  // namespace wireproof::app
