// Formats the figures of a measurement as JSON.
#pragma once

#include <nlohmann/json.hpp>

#include <optional>

#include "wireproof/app/perf/perf_plan.hpp"
#include "wireproof/app/perf/perf_text.hpp"

namespace wireproof::app {

inline nlohmann::ordered_json json_of(const std::optional<double>& value) {
    if (!value) return nullptr;
    return perf_rounded(*value);
}

inline nlohmann::ordered_json json_of(const std::optional<PerfRun::Latency>& latency) {
    if (!latency) return nullptr;
    return {{"min", perf_rounded(latency->min)},
            {"mean", perf_rounded(latency->mean)},
            {"p50", perf_rounded(latency->p50)},
            {"p99", perf_rounded(latency->p99)},
            {"p999", perf_rounded(latency->p999)}};
}

}  // namespace wireproof::app
