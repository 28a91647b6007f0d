// `wireproof perf` of queue pairs: RC and UC, over RoCEv2 or shared memory. Latency and rate of
// each operation, in turns with those of the bare wire.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/app/perf/perf_plan.hpp"

namespace wireproof::cli {

std::string name_of(PerfIbOp op);
/// Its latency is half a round trip, there and back with the same operation; else the whole of it.
constexpr bool is_half_round_trip(PerfIbOp op) {
    return op == PerfIbOp::send || op == PerfIbOp::write;
}

inline constexpr std::size_t fetch_add_size = 8;  // bytes, always

struct PerfIbRun {
    PerfIbOp op = PerfIbOp::send;
    std::size_t size = 0;
    int rounds = 0;
    // Of all rounds, each with the same weight. Nothing: every message was lost.
    std::optional<PerfRun::Latency> latency_ns;
    std::optional<double> latency_limit_ns;  // median; nothing: not measured
    // Medians of the rounds. What UC lost is not among them.
    double messages_per_s = 0;
    std::optional<double> limit_per_s;
    // Of all rounds, and of the latency and the rate apart.
    struct Tally {
        std::uint64_t messages = 0;  // that were posted
        std::uint64_t lost = 0;      // UC: of those, never came
        std::uint64_t resent = 0;    // RC: packets
        double cpu_seconds = 0;      // of both ends, while measured
    };
    Tally latency_tally;
    Tally rate_tally;

    double bytes_per_s() const { return messages_per_s * static_cast<double>(size); }
    std::optional<double> latency_ratio() const {
        if (!latency_ns || !latency_limit_ns || *latency_limit_ns <= 0) return std::nullopt;
        return latency_ns->p50 / *latency_limit_ns;
    }
    std::optional<double> rate_ratio() const {
        if (!limit_per_s || *limit_per_s <= 0) return std::nullopt;
        return messages_per_s / *limit_per_s;
    }
};

struct PerfIbReport {
    std::vector<PerfIbRun> runs;
    std::size_t path_mtu = 0;
    std::string latency_limit_name;
    std::string rate_limit_name;
};

/// How many operations are under way at once while a rate is measured: unless the plan says it, no
/// more than 64 MiB of them.
std::size_t perf_ib_in_flight(const PerfPlan& plan, PerfIbOp op, std::size_t size);

/// Measures every operation of the plan with every size; a fetch-and-add with its own. Throws
/// Failure, and Interrupted.
PerfIbReport measure_ib(const PerfPlan& plan);

std::string perf_ib_table(const PerfPlan& plan, const PerfIbReport& report);
std::string perf_ib_json(const PerfPlan& plan, const PerfIbReport& report);
std::string perf_ib_html(const PerfPlan& plan, const PerfIbReport& report);

}  // namespace wireproof::cli
