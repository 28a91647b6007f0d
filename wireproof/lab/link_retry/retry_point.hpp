// One point of a sweep: a saturated sender, a protocol, a line with bit errors, and the result
// beside that of the closed form. All lengths and times are bytes on the line. The configuration
// alone determines the result of a run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>

#include "wireproof/base/expected.hpp"
#include "wireproof/core/trace.hpp"
#include "wireproof/lab/engines/link_engines.hpp"
#include "wireproof/lab/link_retry/retry_counts.hpp"
#include "wireproof/lab/link_retry/retry_faults.hpp"
#include "wireproof/lab/link_retry/retry_forms.hpp"

namespace wireproof::lab {

/// The protocols of sweeps: the link engines in the order of link_sweeps, then the others. A link
/// engine needs no name here.
enum class RetryProtocol : std::uint8_t {
    pcie,                      // engine: one Nak for a gap, REPLAY_TIMER
    hippi6400,                 // engine: a repeated number is the notice; the sender's timer
    sp_am = link_sweep_count,  // engine, go-back-N: a NACK for each packet after a gap
    sp_am_selective,           // engine: a NACK names the missing packets; only these are resent
    rc,                        // engine: one NAK for a gap, the timeout of a queue pair
    uc,                        // engine: no retransmission
    go_back_n,                 // model: a fresh notice for every failure, no timers
    ideal,                     // model: only the bad unit is resent
    count_
};
inline constexpr auto retry_protocol_names = [] {
    constexpr std::array<std::string_view, 6> others = {"sp-am", "sp-am-selective", "rc",
                                                        "uc",    "go-back-n",       "ideal"};
    std::array<std::string_view, static_cast<std::size_t>(RetryProtocol::count_)> names{};
    std::size_t at = 0;
    for (const LinkSweep& link : link_sweeps) names[at++] = link.name;
    for (const std::string_view name : others) names[at++] = name;
    return names;
}();
constexpr std::string_view name_of(RetryProtocol protocol) {
    return retry_protocol_names[static_cast<std::size_t>(protocol)];
}
static_assert(name_of(RetryProtocol::pcie) == "pcie");
static_assert(name_of(RetryProtocol::hippi6400) == "hippi6400");
static_assert(name_of(RetryProtocol::ideal) == "ideal");

/// The link engine of the protocol. Null if it is another engine or a model.
constexpr const LinkSweep* link_sweep_of(RetryProtocol protocol) {
    const auto at = static_cast<std::size_t>(protocol);
    return at < link_sweeps.size() ? &link_sweeps[at] : nullptr;
}
std::optional<RetryProtocol> retry_protocol(std::string_view name);

struct RetryPreset;

/// Whether the error-correcting code of the units is in use.
enum class RetryFec : std::uint8_t { own, off, on };  // own: as the protocol has it

/// The settings of a point. 0 stands for the value that the protocol itself would choose.
struct RetrySettings {
    RetryProtocol protocol = RetryProtocol::pcie;
    double bit_error = 0;     // 0, or 1e-17 to 0.1
    bool clean_back = false;  // no bit errors in notices and acknowledgements
    double notice_loss = 0;   // probability that a notice is lost, in addition
    LossBursts bursts{};      // of bad frames, forward; `begin` 0: none
    std::shared_ptr<const LossTrace> loss_trace = {};  // of bad frames, forward; null: none
    std::uint32_t payload = 4096;                      // bytes of a message
    std::uint64_t loop = 2000;    // from the end of a bad unit until the first resent one may start
    std::uint32_t buffer = 0;     // limit of unacknowledged units
    std::uint32_t ack_every = 0;  // units
    std::uint64_t timer = 0;      // bytes
    bool renak_on_bad_head = false;  // pcie: a resent head that is bad causes a fresh Nak
    std::uint32_t overhead = 0;      // pcie: bytes around the data, 12 to 64; 0: 28, with an ECRC
    bool loaded_back = false;        // the other direction is saturated, too
    // For protocols whose units are flits (RetryLink::line). Each bit error is then an event of a
    // UnitLine.
    RetryFec fec = RetryFec::own;
    std::uint32_t burst_bits = 0;  // 1 to 256
    std::uint32_t lanes = 0;       // 1, 2, 4, 8, 16 or 32
    double lane_correlation = 0;   // share of events that hit two lanes
    /// The source of the figures, and how long a byte takes. Null if there is no preset.
    const RetryPreset* preset = nullptr;

    /// Some strict order. Equivalent settings are equal in every value.
    friend bool operator<(const RetrySettings& a, const RetrySettings& b);
};

/// When a run ends, and how it works.
struct RetryPlan {
    std::uint64_t packets = 0;     // exactly so many units; 0: until the relative error is reached
    double relative_error = 0.02;  // one standard error of the resend ratio, divided by it
    std::uint64_t packets_max = 1'000'000'000'000'000'000;
    // A run that ends by its error must expect at least so many failures, however large the error
    // may be.
    std::uint64_t failures_min = 100;
    bool jump = true;
    std::uint64_t seed = 1;
    /// Called now and then with the share that is done. If it throws, the point is given up.
    std::function<void(double)> progress = {};
    /// Called as often. If it returns true, the point ends early and is `stopped`.
    std::function<bool()> out_of_time = {};
    Trace* trace = nullptr;         // engines only: records from `trace_after` on; no jumps then
    std::uint64_t trace_after = 0;  // units that the receiver took before
};

/// The frame that reports a failure. If there are several copies, all must arrive.
struct RetryNotice {
    std::size_t bytes = 0;  // on the line; 0: the closed form takes no lost notices into account
    int copies = 1;
};

/// The settings with each 0 replaced by the protocol's own value, where the protocol has one.
struct RetryLink {
    LineUnit unit;            // bytes; payload is the share of one unit
    std::size_t framing = 0;  // of the overhead: bytes of each frame that no engine writes
    // The same, but only of each unit: the line is idle. Negative: the line carries fewer bytes.
    std::ptrdiff_t gap = 0;
    std::uint64_t loop = 0;
    std::uint64_t timer = 0;
    std::uint32_t buffer = 0;
    std::uint32_t ack_every = 0;
    /// Set if all frames have one length and cross a UnitLine, as flits do. `groups` 0: the units
    /// have no error-correcting code.
    std::optional<UnitLineTerms> line;
    double bytes_per_second = 0;  // of that line; 0: not known
    // How the closed form sees the link.
    RetryScheme scheme = RetryScheme::one_notice;
    RetryNotice notice;
    NoticeOf notice_of = NoticeOf::bad_unit;
    // Frames of the sender, as long as a unit, that announce each replay. All must arrive. If they
    // do not, or if the notice does not, the receiver's timer sends another notice.
    std::uint32_t announcing = 0;
    bool timer_from_start = false;    // FailureCosts::Line
    bool timer_after_replay = false;  // FailureCosts::Line
    double notice_after = 0;          // units that the notice waits for after the bad one
    FailureCosts costs;               // resolve() computes them from the rest
};

/// Whether the closed form describes a point (retry_domain.hpp).
enum class FormDomain : std::uint8_t { inside, edge, outside };

struct RetryPoint {
    RetryLink link;
    RetryTotals totals;
    std::uint64_t kept_most = 0;  // units in the replay buffer
    double kept_mean = 0;
    std::array<std::uint64_t, 4> latency{};  // of units, 50, 99, 99.9, 100 %; bytes on the line
    double unit_error = 0;
    /// The variance of the resend ratio as measured, times the units; 0: not known, or less than if
    /// the units were independent.
    double variance = 0;
    UnitLineCounts line_counts;  // of bad units that were sent forward, if link.line is set
    Wide jumped = 0;             // units that were not simulated one by one
    /// The point ended early because its time was over. The figures cover what was simulated,
    /// perhaps not even one unit.
    bool stopped = false;

    /// Why no jump was possible. Empty if jumps were possible or not needed.
    std::string_view cannot_jump;

    double packets() const;
    double resend_ratio() const;
    double etr() const { return etr_of(link.unit, resend_ratio()); }
    /// Payload bytes that the receiver took, for each byte time of the line.
    double throughput() const;
    /// One standard error of the resend ratio, divided by the ratio: as measured, and at least that
    /// of the closed form. Nothing if there were no errors.
    std::optional<double> relative_error() const;
    /// The standard error of the resend ratio as measured, divided by that which independent units
    /// would have: 1 or more. It is more if one failure leads to the next.
    double dependence() const;

    /// Nothing if there is no formula (bursts, a trace, a loaded way back).
    std::optional<double> closed_ratio() const;
    std::optional<double> closed_etr() const;
    /// The difference of the measured resend ratio and the closed form's, in standard errors: those
    /// of the closed form for independent units, times dependence().
    std::optional<double> deviation() const;
    bool has_closed_form = true;
    FormDomain domain = FormDomain::inside;  // of the closed form
    /// Readers see the closed form only where it describes the point.
    bool shows_closed_form() const { return has_closed_form && domain != FormDomain::outside; }
    /// Whether a unit can be bad. If not, there is nothing to measure.
    bool meets_errors = true;
};

/// Fills in the settings, or says in one line why they cannot work.
Expected<RetryLink> resolve(const RetrySettings& settings);

/// The part of a point that is known before the simulation: its link and closed forms.
Expected<RetryPoint> foreseen_point(const RetrySettings& settings);

/// Runs the point. Returns errors of the settings, or of a link that comes to rest.
Expected<RetryPoint> run_retry_point(const RetrySettings& settings, const RetryPlan& plan);

}  // namespace wireproof::lab
