// One point of a sweep: a saturated sender, a protocol, a line with bit errors, and what came of
// it, next to what the closed form says. Everything is counted in bytes on the line; a run is a
// function of its configuration.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "wireproof/base/expected.hpp"
#include "wireproof/core/trace.hpp"
#include "wireproof/lab/retry/retry_counts.hpp"
#include "wireproof/lab/retry/retry_faults.hpp"
#include "wireproof/lab/retry/retry_forms.hpp"

namespace wireproof::lab {

enum class RetryProtocol : std::uint8_t {
    pcie,             // the engine: one Nak for a gap, REPLAY_TIMER
    hippi6400,        // the engine: a number seen twice, the sender's timer
    sp_am,            // the engine, go-back-N: a NACK for all that follows a gap
    sp_am_selective,  // the engine: a NACK names what is missing, which alone leaves again
    rc,               // the engine: one NAK for a gap, the timeout of a queue pair
    uc,               // the engine: nothing leaves again, what is lost is lost
    go_back_n,        // a model: a fresh notice for every failure, no timers
    ideal,            // a model: the bad unit alone leaves again
};
inline constexpr std::array<std::string_view, 8> retry_protocol_names = {
    "pcie", "hippi6400", "sp-am", "sp-am-selective", "rc", "uc", "go-back-n", "ideal"};
constexpr std::string_view name_of(RetryProtocol protocol) {
    return retry_protocol_names[static_cast<std::size_t>(protocol)];
}
std::optional<RetryProtocol> retry_protocol(std::string_view name);

struct RetryPreset;

/// What is varied. 0 stands for what the protocol itself would choose.
struct RetrySettings {
    RetryProtocol protocol = RetryProtocol::pcie;
    double bit_error = 0;     // 0, or 1e-17 to 0.1
    bool clean_back = false;  // notices and acknowledgements meet no bit errors
    double notice_loss = 0;   // of notices besides
    LossBursts bursts{};      // of bad frames, forward; `begin` 0: none
    std::shared_ptr<const LossTrace> loss_trace = {};  // of bad frames, forward; null: none
    std::uint32_t payload = 4096;                      // bytes of a message
    std::uint64_t loop = 2000;       // from a bad unit's end until the first resent one may start
    std::uint32_t buffer = 0;        // units that may be unacknowledged
    std::uint32_t ack_every = 0;     // units
    std::uint64_t timer = 0;         // bytes
    bool renak_on_bad_head = false;  // pcie: a resent head that is bad draws a fresh Nak
    bool loaded_back = false;        // the other direction is saturated, too
    /// Where the figures come from, and how long a byte takes; null: nobody says.
    const RetryPreset* preset = nullptr;

    /// In some order, in which those that differ in nothing are equal.
    friend bool operator<(const RetrySettings& a, const RetrySettings& b);
};

/// How long, and how.
struct RetryPlan {
    std::uint64_t packets = 0;     // exactly so many units; 0: until the relative error is reached
    double relative_error = 0.02;  // one standard error of the resend ratio, divided by it
    std::uint64_t packets_max = 1'000'000'000'000'000'000;
    // Foreseen at least in what ends by its error, however large that may be.
    std::uint64_t failures_min = 100;
    bool jump = true;
    std::uint64_t seed = 1;
    /// Told now and then of the share that is done; may throw, and the point is given up.
    std::function<void(double)> progress = {};
    /// Asked as often; true ends the point early, and it is `stopped`.
    std::function<bool()> out_of_time = {};
    Trace* trace = nullptr;  // engines only; from `trace_after` on, and nothing is jumped over then
    std::uint64_t trace_after = 0;  // units taken
};

/// What the settings mean for the protocol: every 0 is filled in, where the protocol has it.
struct RetryLink {
    LineUnit unit;            // bytes; payload is the share of one unit
    std::size_t framing = 0;  // of those: bytes of each frame that no engine writes
    std::uint64_t loop = 0;
    std::uint64_t timer = 0;
    std::uint32_t buffer = 0;
    std::uint32_t ack_every = 0;
    RetryScheme scheme = RetryScheme::one_notice;
    FailureCosts costs;
};

struct RetryPoint {
    RetryLink link;
    RetryTotals totals;
    std::uint64_t kept_most = 0;  // units in the replay buffer
    double kept_mean = 0;
    std::array<std::uint64_t, 4> latency{};  // of units, 50, 99, 99.9, 100 %; bytes on the line
    double unit_error = 0;
    Wide jumped = 0;  // units that were not simulated one by one
    /// Its time was over before it had reached its end: the figures are of what there was of it,
    /// which may be no unit at all.
    bool stopped = false;

    /// Why nothing could be jumped over; empty where it could, or needed not.
    std::string_view cannot_jump;

    double packets() const;
    double resend_ratio() const;
    double etr() const { return etr_of(link.unit, resend_ratio()); }
    /// Payload bytes taken for each byte time of the line.
    double throughput() const;
    /// One standard error of the resend ratio, as measured, divided by it; nothing if there were
    /// no errors.
    std::optional<double> relative_error() const;

    /// Nothing where no formula describes the point (bursts, a trace, a loaded way back).
    std::optional<double> closed_ratio() const;
    std::optional<double> closed_etr() const;
    /// Of the resend ratio from the closed form's, in its standard errors.
    std::optional<double> deviation() const;
    bool has_closed_form = true;
    /// Some unit may be bad: otherwise there is nothing to measure.
    bool meets_errors = true;
};

/// What cannot work, in one line.
Expected<RetryLink> resolve(const RetrySettings& settings);

/// What is known of a point before it is simulated: its link and closed forms.
Expected<RetryPoint> foreseen_point(const RetrySettings& settings);

/// Runs it. Errors are those of the settings, or a link that comes to rest.
Expected<RetryPoint> run_retry_point(const RetrySettings& settings, const RetryPlan& plan);

}  // namespace wireproof::lab
