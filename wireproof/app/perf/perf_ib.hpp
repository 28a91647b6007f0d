// `wireproof perf` for queue pairs: RC and UC, over RoCEv2 or shared memory. Measures latency and
// rate of each operation, alternating with those of the bare wire.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/app/perf/perf_plan.hpp"

namespace wireproof::app {

std::string name_of(PerfIbOp op);
/// True if the latency is half a round trip, with the same operation there and back. Otherwise the
/// latency is the whole time of the operation.
constexpr bool is_half_round_trip(PerfIbOp op) {
    return op == PerfIbOp::send || op == PerfIbOp::write;
}

inline constexpr std::size_t fetch_add_size = 8;  // always 8 bytes

struct PerfIbRun {
    PerfIbOp op = PerfIbOp::send;
    std::size_t size = 0;
    int rounds = 0;
    // Of all rounds, with the same weight for each. Empty: every message was lost.
    std::optional<PerfRun::Latency> latency_ns;
    std::optional<double> latency_limit_ns;  // median; empty: not measured
    // Medians of the rounds. They do not count messages that UC lost.
    double messages_per_s = 0;
    std::optional<double> limit_per_s;
    // Of all rounds, separately for latency and rate.
    struct Tally {
        std::uint64_t messages = 0;  // posted messages
        std::uint64_t lost = 0;      // UC: posted messages that never arrived
        std::uint64_t resent = 0;    // RC: packets
        double cpu_seconds = 0;      // of both ends, during the measurement
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

/// The number of operations in flight while a rate is measured. Unless the plan gives it, they have
/// at most 64 MiB together.
std::size_t perf_ib_in_flight(const PerfPlan& plan, PerfIbOp op, std::size_t size);

/// Measures every operation of the plan with every size; fetch-and-add has only its own size.
/// Throws Failure and Interrupted.
PerfIbReport measure_ib(const PerfPlan& plan);

std::string perf_ib_table(const PerfPlan& plan, const PerfIbReport& report);
std::string perf_ib_json(const PerfPlan& plan, const PerfIbReport& report);
std::string perf_ib_html(const PerfPlan& plan, const PerfIbReport& report);

}  // namespace wireproof::app
