// What link-level retry costs, in closed form. A saturated sender, independent bit errors, units of
// one length on the line. ETR is payload over all bytes put on the link for it, resent ones
// included; idle time is not in it. Source: section 3 of the analysis cited as ETR-n; probabilities
// keep their digits down to a bit error rate of 1e-300 (expm1, log1p).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace wireproof::lab {

/// What is resent as one: bytes of payload, and what goes with them on the line.
struct LineUnit {
    double payload = 0;
    double overhead = 0;

    double bytes() const { return payload + overhead; }
    /// ETR without errors.
    double efficiency() const { return payload / bytes(); }
};

/// That at least one bit of so many bytes is wrong.
double unit_error(double bit_error, double bytes);
/// The bit error rate at which a unit of so many bytes is bad with this probability.
double bit_error_of(double unit_error, double bytes);

enum class RetryScheme : std::uint8_t {
    selective_repeat,  // (0) the bad unit alone leaves again
    fresh_notice,      // (i) go-back-N, every failure of the expected unit draws a notice
    one_notice,        // (ii) one notice for a gap; a resent head that is bad waits for the timer
    patient_notice,    // (ii), and a notice that comes during a replay waits for its end (PCIe)
    timeout_only,      // (iii) no notices
};

/// What draws the notice of a failure.
enum class NoticeOf : std::uint8_t {
    bad_unit,         // the unit itself: it says that it is bad
    next_whole,       // the next one that is not bad, as the number before it is missing
    each_next_whole,  // each such one, until a notice has arrived
};

/// Units put on the line in vain for one failure, the bad one included.
struct FailureCosts {
    double by_notice = 1;    // N: a notice brings the sender back; without those waited for
    double first_timer = 1;  // M1: of a fresh unit, left to the timer
    double head_timer = 1;   // M2: of the head of a replay, left to the timer
    double notice_loss = 0;  // f: that no notice arrives
    NoticeOf notice_of = NoticeOf::bad_unit;

    /// From a loop (end of the bad unit until the first resent one may start), the timer and the
    /// window, which ends the flow but not the waiting. Bytes; `apart` is the distance of two
    /// copies of a notice, in units.
    struct Line {
        double unit = 1;
        double loop = 0;
        double timer = std::numeric_limits<double>::infinity();
        double window = std::numeric_limits<double>::infinity();  // units
        double apart = 0;
        /// The timer runs from the beginning of the head of a replay, not from its end.
        bool timer_from_start = false;
    };
    static FailureCosts of(const Line& line, double notice_loss = 0);
};

/// Mean units sent in vain for each delivered one (S - 1); `unit_error` below 1.
double resend_ratio(RetryScheme scheme, double unit_error, const FailureCosts& costs);

/// One standard error of that ratio as measured over so many delivered units.
double resend_ratio_error(RetryScheme scheme, double unit_error, const FailureCosts& costs,
                          double delivered);

/// Of a resend ratio.
inline double etr_of(const LineUnit& unit, double resend_ratio) {
    return unit.efficiency() / (1 + resend_ratio);
}

/// Share of the line's time that a window leaves in use without errors.
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

/// The bit error rate at which both are equal; nothing if one is better at every rate from 1e-15
/// to 1e-2, as far as their signs at these two say.
std::optional<double> crossover(const RetryCurve& left, const RetryCurve& right);

/// The payload, in whole double words (TLPs carry no others), with the highest ETR where
/// `fresh_notice` brings the sender back.
double best_payload(double bit_error, double overhead, double loop);

}  // namespace wireproof::lab
