// The cost of link-level retry in closed form, for a saturated sender, independent bit errors, and
// units of one length on the line. ETR is the payload divided by all bytes that were put on the
// link for it, including resent bytes but not idle time. Source: section 3 of the analysis cited as
// ETR-n. Probabilities keep their digits down to a bit error rate of 1e-300 (expm1, log1p).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace wireproof::lab {

/// The unit of retransmission: bytes of payload, and the overhead bytes on the line.
struct LineUnit {
    double payload = 0;
    double overhead = 0;

    double bytes() const { return payload + overhead; }
    /// ETR without errors.
    double efficiency() const { return payload / bytes(); }
};

/// The probability that at least one bit of `bytes` bytes is wrong.
double unit_error(double bit_error, double bytes);
/// The bit error rate at which a unit of `bytes` bytes is bad with this probability.
double bit_error_of(double unit_error, double bytes);

enum class RetryScheme : std::uint8_t {
    selective_repeat,  // (0) the sender resends only the bad unit
    fresh_notice,      // (i) go-back-N; every failure of the expected unit causes a notice
    one_notice,        // (ii) one notice for a gap; a resent head that is bad waits for the timer
    patient_notice,    // (ii), but a notice that arrives during a replay waits for its end (PCIe)
    timeout_only,      // (iii) no notices
    stored_notice,     // one resend, and the receiver stores what follows; a second failure before
                       // the repair causes go-back-N (flits)
};

/// What causes the notice of a failure.
enum class NoticeOf : std::uint8_t {
    bad_unit,         // the bad unit itself: the receiver knows its number
    next_whole,       // the next good unit: the receiver sees that the number before it is missing
    each_next_whole,  // each good unit, until a notice has arrived
};

/// Units that are sent in vain for one failure, including the bad one.
struct FailureCosts {
    double by_notice = 1;    // N: if a notice reports it; without the wait for a good unit
    double first_timer = 1;  // M1: of a fresh unit, if only the timer reports it
    double head_timer = 1;   // M2: of the head of a replay, if only the timer reports it
    double notice_loss = 0;  // f: probability that no notice arrives
    NoticeOf notice_of = NoticeOf::bad_unit;

    /// Computes the costs from the loop (from the end of the bad unit until the first resent one
    /// may start), the timer and the window. A full window stops the sender, but it does not
    /// shorten the wait. In bytes; `apart` is the distance of two copies of a notice, or what the
    /// notice waits for after the bad unit, in units.
    struct Line {
        double unit = 1;
        double loop = 0;
        double timer = std::numeric_limits<double>::infinity();
        double window = std::numeric_limits<double>::infinity();  // units
        double apart = 0;
        /// The timer starts at the beginning of the head of a replay, not at its end.
        bool timer_from_start = false;
        /// It starts when all units of the replay have left. Then the next replay has all units
        /// that left meanwhile, too.
        bool timer_after_replay = false;
    };
    static FailureCosts of(const Line& line, double notice_loss = 0);

    /// The same for a link whose replays are announced by `announcing` frames as long as a unit,
    /// and whose receiver asks again after its timer. `announcement_loss`: the probability that one
    /// of these frames is bad.
    static FailureCosts of_announced(const Line& line, double announcing, double notice_loss,
                                     double announcement_loss);
};

/// Mean number of units sent in vain for each delivered one (S - 1). `unit_error` is below 1.
double resend_ratio(RetryScheme scheme, double unit_error, const FailureCosts& costs);

/// One standard error of that ratio, if it is measured over `delivered` units.
double resend_ratio_error(RetryScheme scheme, double unit_error, const FailureCosts& costs,
                          double delivered);

/// The ETR for a resend ratio.
inline double etr_of(const LineUnit& unit, double resend_ratio) {
    return unit.efficiency() / (1 + resend_ratio);
}

/// The share of the line's time that a sender with this window uses, without errors.
inline double window_throughput(double window, double loop, double unit) {
    const double share = window / (1 + loop / unit);
    return share < 1 ? share : 1;
}

/// One side of a comparison.
struct RetryCurve {
    RetryScheme scheme = RetryScheme::fresh_notice;
    LineUnit unit;
    FailureCosts costs;

    double etr(double bit_error) const {
        return etr_of(unit, resend_ratio(scheme, unit_error(bit_error, unit.bytes()), costs));
    }
};

/// The bit error rate at which both have the same ETR. Returns nothing if one side is better both
/// at 1e-15 and at 1e-2: then it is taken to be better at every rate between.
std::optional<double> crossover(const RetryCurve& left, const RetryCurve& right);

/// The payload with the highest ETR for scheme `fresh_notice`. It is a multiple of 4 bytes, because
/// TLPs carry only whole double words.
double best_payload(double bit_error, double overhead, double loop);

}  // namespace wireproof::lab
