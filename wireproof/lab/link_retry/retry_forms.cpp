#include "wireproof/lab/link_retry/retry_forms.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace wireproof::lab {
namespace {

// The first failure of a unit costs `first`; each further failure of the same unit costs `later`.
struct Costs {
    double first = 0;
    double first_squared = 0;  // mean of the square; a lost notice makes the cost random
    double later = 0;
    double later_squared = 0;
};

double square(double x) {
    return x * x;
}

// The mean over a notice that arrives and one that does not. If no notice can be lost, `by_timer`
// may have any value, even infinity.
double mixed(double lost, double by_notice, double by_timer) {
    return (1 - lost) * by_notice + (lost > 0 ? lost * by_timer : 0);
}

/// The cost of a failure that a notice reports: the mean, and the mean of the square.
struct Noticed {
    double mean = 0;
    double squared = 0;
};

// If the units that follow cause the notice, the k-th of them is the first to cause it with
// probability s (1 - s)^(k - 1). All k units are sent in vain.
Noticed noticed(const FailureCosts& c, double p) {
    if (c.notice_of == NoticeOf::bad_unit) return {c.by_notice, square(c.by_notice)};
    const double s =
        c.notice_of == NoticeOf::each_next_whole ? (1 - p) * (1 - c.notice_loss) : 1 - p;
    const double mean = 1 / s;
    return {c.by_notice + mean, square(c.by_notice) + 2 * c.by_notice * mean + (2 - s) / square(s)};
}

// After a timeout, the sender replays all M2 units that left in the meantime. If one of them fails,
// it costs the rest of that replay, if the rest is more than N. The next unit has r units of a
// replay after it with probability p^2 (1 - p^2)^(M2 - 1 - r): this is the probability that the
// last timeout was so long ago.
void add_patience(Costs& costs, const FailureCosts& c, double p) {
    double chance = p * p;
    for (double left = c.head_timer - 1; left > c.by_notice && chance > 0; --left) {
        costs.first += (1 - c.notice_loss) * chance * (left - c.by_notice);
        costs.first_squared += (1 - c.notice_loss) * chance * (square(left) - square(c.by_notice));
        chance *= 1 - p * p;
    }
}

Costs costs_of(RetryScheme scheme, const FailureCosts& c, double p) {
    // If each following unit causes a notice, a lost notice only delays the recovery.
    const double f = c.notice_of == NoticeOf::each_next_whole ? 0 : c.notice_loss;
    const Noticed notice = noticed(c, p);
    const double first = mixed(f, notice.mean, c.first_timer);
    const double first_squared = mixed(f, notice.squared, square(c.first_timer));
    switch (scheme) {
        case RetryScheme::selective_repeat: return {1, 1, 1, 1};
        case RetryScheme::fresh_notice:
            return {first, first_squared, mixed(f, notice.mean, c.head_timer),
                    mixed(f, notice.squared, square(c.head_timer))};
        case RetryScheme::one_notice:
            return {first, first_squared, c.head_timer, square(c.head_timer)};
        case RetryScheme::patient_notice: {
            Costs costs{first, first_squared, c.head_timer, square(c.head_timer)};
            add_patience(costs, c, p);
            return costs;
        }
        case RetryScheme::timeout_only:
            return {c.first_timer, square(c.first_timer), c.head_timer, square(c.head_timer)};
        case RetryScheme::stored_notice: break;  // StoredCycle
    }
    return {};
}

// For stored_notice: a cycle is some good units, a bad one, and all until receiver and sender are
// in step again. In slot 0 is the bad unit, and in slot n the unit that is resent.
struct StoredCycle {
    struct Ending {
        double chance = 0;
        double wasted = 0;     // units
        double delivered = 0;  // after the good ones
    };
    std::array<Ending, 4> endings;
    double good = 0;  // mean number of good units
    double good_variance = 0;

    StoredCycle(const FailureCosts& c, double p)
        : good((1 - p) / p), good_variance((1 - p) / (p * p)) {
        const double n = c.by_notice;
        const double clean = std::pow(1 - p, n - 2);
        // No other unit fails. The one in slot 1 does: go-back-N at once.
        endings[0] = {(1 - p) * (1 - p) * clean, 1, n};
        endings[1] = {p, n, 0};
        // Another one before the repair does. The sender learns of it by the unit after the repair.
        // One slot is no unit: a flit that must be explicit waits while another has an Ack.
        const double no_unit = n >= 4 ? 1 : 0;
        endings[2] = {(1 - p) * (1 - clean), 2 * n - 1 - no_unit, 1};
        // The repair does: the next notice counts when the sender's wait (head_timer) is over.
        endings[3] = {(1 - p) * clean * p, n + c.head_timer - no_unit, 0};
    }

    template <class Value>
    double mean(Value&& value) const {
        double sum = 0;
        for (const Ending& ending : endings) sum += ending.chance * value(ending);
        return sum;
    }
    double delivered() const {
        return good + mean([](const Ending& e) { return e.delivered; });
    }
    double ratio() const {
        return mean([](const Ending& e) { return e.wasted; }) / delivered();
    }
    double ratio_error(double units) const {
        const double r = ratio();
        const double squared =
            mean([&](const Ending& e) { return square(e.wasted - r * (good + e.delivered)); });
        return std::sqrt((squared + r * r * good_variance) / delivered() / units);
    }
};

// The place where f is zero. f is positive at one end and negative at the other.
template <class F>
double root(double low, double high, F&& f) {
    const bool sign = f(low) > 0;
    while (true) {
        const double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) return middle;
        ((f(middle) > 0) == sign ? low : high) = middle;
    }
}

}  // namespace

double unit_error(double bit_error, double bytes) {
    return -std::expm1(8 * bytes * std::log1p(-bit_error));
}

double bit_error_of(double unit_error, double bytes) {
    return -std::expm1(std::log1p(-unit_error) / (8 * bytes));
}

FailureCosts FailureCosts::of(const Line& line, double notice_loss) {
    const auto units = [&line](double bytes) {
        return std::min(line.window, std::ceil(bytes / line.unit));
    };
    FailureCosts costs;
    costs.by_notice = std::min(line.window, 1 + std::ceil(line.loop / line.unit) + line.apart);
    costs.first_timer = units(line.loop + line.timer);
    costs.head_timer = units(line.timer + (line.timer_from_start ? 0 : line.unit));
    if (line.timer_after_replay) {
        costs.head_timer =
            std::min(line.window, costs.by_notice + std::ceil(line.timer / line.unit));
    }
    costs.notice_loss = notice_loss;
    return costs;
}

// The receiver's timer starts when the notice leaves. If the notice is lost, the sender goes on,
// but a full window stops it. If the announcement is lost, the replay was in vain, and the sender
// goes on after it. Each further loss costs the same again.
FailureCosts FailureCosts::of_announced(const Line& line, double announcing, double notice_loss,
                                        double announcement_loss) {
    const double wait = std::ceil(line.timer / line.unit);
    const double fresh = 1 + std::ceil(line.loop / line.unit);
    FailureCosts costs;
    costs.by_notice = std::min(line.window, fresh) + announcing;
    const double no_notice = std::min(line.window, fresh + wait) + announcing;
    const double no_announcement =
        costs.by_notice + announcing + std::min(line.window, std::max(wait - announcing, 0.0));
    const double only_announcement = (1 - notice_loss) * announcement_loss;
    costs.notice_loss = notice_loss + only_announcement;
    if (costs.notice_loss == 0 || costs.notice_loss >= 1) {
        costs.first_timer = costs.head_timer = no_notice;
        return costs;
    }
    const double extra = (notice_loss * (no_notice - costs.by_notice) +
                          only_announcement * (no_announcement - costs.by_notice)) /
                         costs.notice_loss;
    costs.first_timer = costs.head_timer = costs.by_notice + extra / (1 - costs.notice_loss);
    return costs;
}

double resend_ratio(RetryScheme scheme, double unit_error, const FailureCosts& costs) {
    if (scheme == RetryScheme::stored_notice) {
        return unit_error == 0 ? 0 : StoredCycle(costs, unit_error).ratio();
    }
    const Costs c = costs_of(scheme, costs, unit_error);
    const double p = unit_error;
    const double later = p * p / (1 - p);
    return p * c.first + (later > 0 ? later * c.later : 0);
}

double resend_ratio_error(RetryScheme scheme, double unit_error, const FailureCosts& costs,
                          double delivered) {
    const double p = unit_error;
    if (p == 0) return 0;
    if (scheme == RetryScheme::stored_notice) {
        return StoredCycle(costs, p).ratio_error(delivered);
    }
    const Costs c = costs_of(scheme, costs, unit_error);
    // For a unit that failed: the mean number of its further failures, and the mean square.
    const double again = p / (1 - p);
    const double again_squared = p * (1 + p) / square(1 - p);
    const double later_variance = c.later_squared - square(c.later);
    const double squared = p * (c.first_squared + 2 * c.first * c.later * again +
                                again * later_variance + again_squared * square(c.later));
    return std::sqrt((squared - square(resend_ratio(scheme, p, costs))) / delivered);
}

std::optional<double> crossover(const RetryCurve& left, const RetryCurve& right) {
    const auto ahead = [&](double ln_b) {
        return left.etr(std::exp(ln_b)) - right.etr(std::exp(ln_b));
    };
    const double low = std::log(1e-15);
    double high = std::log(1e-2);
    while (left.etr(std::exp(high)) == 0 && right.etr(std::exp(high)) == 0) high -= 1;
    if ((ahead(low) > 0) == (ahead(high) > 0)) return std::nullopt;
    return std::exp(root(low, high, ahead));
}

double best_payload(double bit_error, double overhead, double loop) {
    double best = 0;
    double best_etr = 0;
    for (double payload = 4; payload <= 65536; payload += 4) {
        const LineUnit unit{payload, overhead};
        const RetryCurve curve{RetryScheme::fresh_notice, unit,
                               FailureCosts::of({.unit = unit.bytes(), .loop = loop})};
        const double etr = curve.etr(bit_error);
        if (etr > best_etr) {
            best = payload;
            best_etr = etr;
        }
    }
    return best;
}

}  // namespace wireproof::lab
