// A simulated point of a sweep, from this or an earlier run: the figures that are shown and kept.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

/// What the line did to the units of a protocol with flits.
struct SweepLine {
    UnitLineTerms terms;
    double event = 0;             // probability that an error event begins in a unit
    double failure = 0;           // that a unit is bad behind its code
    double undetected = 0;        // bound: that it is bad and taken for good
    double bytes_per_second = 0;  // 0: not known
    std::optional<double> failures_in_time = {};  // undetected in 10^9 hours at this rate
    UnitLineCounts counts;                        // of the units that were sent forward
};
/// Nothing if the protocol has no flits.
std::optional<SweepLine> sweep_line(const RetrySettings& settings, const RetryPoint& point);

struct SweepPoint {
    RetrySettings settings;  // as the user asked for them
    // Counts of units; timeouts, acks and naks are events.
    Wide packets = 0;  // taken by the receiver, each once
    Wide sent = 0;     // put on the line
    Wide resent = 0;   // of these: not for the first time
    Wide lost = 0;     // never taken; of a protocol that does not resend
    Wide jumped = 0;   // not simulated one by one
    Wide replays = 0;
    Wide timeouts = 0;
    Wide acks = 0;
    Wide naks = 0;
    // Empty if there is no such figure. A point that was stopped may have taken no unit.
    std::optional<double> etr = {};
    std::optional<double> throughput = {};
    std::optional<double> resend_ratio = {};
    std::optional<double> relative_error = {};
    std::optional<double> closed_etr = {};
    std::optional<double> closed_ratio = {};
    std::optional<double> deviation = {};
    bool closed_at_edge = false;  // the closed form is there, but at the edge of its domain
    // The settings with each 0 replaced by the protocol's own value.
    std::uint64_t loop = 0;
    std::uint32_t buffer = 0;
    std::uint32_t ack_every = 0;
    std::uint64_t timer = 0;
    double kept_mean = 0;
    std::uint64_t kept_most = 0;
    std::array<std::uint64_t, 4> latency{};  // 50, 99, 99.9, 100 %; bytes on the line
    std::optional<SweepLine> line = {};
    std::string cannot_jump = {};  // why; empty if it could, or had no need
    bool stopped = false;          // its time was over before it had finished
};

SweepPoint sweep_point(const RetrySettings& settings, const RetryPoint& point);

/// The names of the four latencies.
inline constexpr std::array<const char*, 4> latency_names = {"p50", "p99", "p99.9", "max"};

// For a point with a preset, which says how long a byte takes.

/// Payload that the receiver took, in bytes per second. Nothing if there is no throughput.
std::optional<double> goodput(const SweepPoint& point);
/// The latency of this index, in nanoseconds.
double nanoseconds(const SweepPoint& point, std::size_t latency);

}  // namespace wireproof::lab
