#include "wireproof/lab/line/unit_line.hpp"

#include <algorithm>
#include <cmath>

#include "wireproof/base/check.hpp"

namespace wireproof::lab {
namespace {

constexpr std::uint32_t groups_max = 8;

std::uint32_t touched(std::uint32_t offset, std::uint32_t burst_bits) {
    return (offset + burst_bits - 1) / 8 + 1;
}

/// The wrong bytes of a unit, by group of the code.
class WrongBytes {
public:
    explicit WrongBytes(const UnitLineTerms& terms) : terms_(terms) {}

    void hit(std::uint32_t byte, std::uint32_t count) {
        for (; count > 0 && byte < terms_.unit; --count, byte += terms_.lanes) {
            Group& group = groups_[byte % terms_.groups];
            group.several = group.several || (group.wrong && group.byte != byte);
            group.wrong = true;
            group.byte = byte;
        }
    }
    void hit(const UnitEvent& event) {
        hit(event.byte, event.touched);
        if (event.hits_other) hit(event.other_byte, event.touched);
    }
    std::uint32_t unrepaired() const {
        return static_cast<std::uint32_t>(std::count_if(
            groups_.begin(), groups_.end(), [](const Group& group) { return group.several; }));
    }

private:
    struct Group {
        std::uint32_t byte = 0;
        bool wrong = false;
        bool several = false;
    };

    const UnitLineTerms& terms_;
    std::array<Group, groups_max> groups_{};
};

/// A kind of event: its first byte, the bytes it touches, and its share of all events.
struct Kind {
    UnitEvent event;
    double share = 0;
};

/// Calls `visit(kind)` for each kind of event on one lane.
template <class Visit>
void for_each_kind(const UnitLineTerms& terms, Visit&& visit) {
    for (std::uint32_t byte = 0; byte < terms.unit; ++byte) {
        for (std::uint32_t offset = 0; offset < 8;) {
            const std::uint32_t count = touched(offset, terms.burst_bits);
            std::uint32_t same = 1;
            while (offset + same < 8 && touched(offset + same, terms.burst_bits) == count) ++same;
            const double share = same / (8.0 * static_cast<double>(terms.unit));
            visit(Kind{{.byte = byte, .touched = count}, share});
            offset += same;
        }
    }
}

/// The first byte of the lanes beside the lane of `byte`, in the same symbol.
template <class Visit>
void for_each_other(const UnitLineTerms& terms, std::uint32_t byte, Visit&& visit) {
    const std::uint32_t symbol = byte / terms.lanes * terms.lanes;
    for (std::uint32_t lane = 0; lane < terms.lanes; ++lane) {
        if (symbol + lane != byte) visit(symbol + lane);
    }
}

double one_event_fails(const UnitLineTerms& terms) {
    double fails = 0;
    for_each_kind(terms, [&](const Kind& kind) {
        WrongBytes wrong(terms);
        wrong.hit(kind.event);
        if (wrong.unrepaired() > 0) fails += kind.share;
    });
    return fails;
}

double correlated_event_fails(const UnitLineTerms& terms) {
    if (terms.lanes == 1) return 0;
    double fails = 0;
    for_each_kind(terms, [&](const Kind& kind) {
        for_each_other(terms, kind.event.byte, [&](std::uint32_t other) {
            WrongBytes wrong(terms);
            wrong.hit(kind.event);
            wrong.hit(other, kind.event.touched);
            if (wrong.unrepaired() > 0) fails += kind.share / (terms.lanes - 1);
        });
    });
    return fails;
}

double two_events_fail(const UnitLineTerms& terms) {
    double fails = 0;
    for_each_kind(terms, [&](const Kind& first) {
        for_each_kind(terms, [&](const Kind& second) {
            WrongBytes wrong(terms);
            wrong.hit(first.event);
            wrong.hit(second.event);
            if (wrong.unrepaired() > 0) fails += first.share * second.share;
        });
    });
    return fails;
}

/// Share of the events that touch one byte.
double touches_one(const UnitLineTerms& terms) {
    std::uint32_t count = 0;
    for (std::uint32_t offset = 0; offset < 8; ++offset) {
        if (touched(offset, terms.burst_bits) == 1) ++count;
    }
    return count / 8.0;
}

/// Calls `visit(k, P)` with the probabilities that k of the bits of so many bytes begin an event,
/// from k = 0 on, until the rest is negligible.
template <class Visit>
void for_each_count(std::size_t bytes, double bit_error, Visit&& visit) {
    const auto bits = static_cast<double>(8 * bytes);
    const double odds = bit_error / (1 - bit_error);
    double probability = std::exp(bits * std::log1p(-bit_error));
    for (double k = 0; k <= bits; ++k) {
        visit(static_cast<std::size_t>(k), probability);
        if (k > bits * bit_error && probability < 1e-300) return;
        if (k > 2 * bits * bit_error + 60) return;
        probability *= (bits - k) / (k + 1) * odds;
    }
}

/// Independent wrong bytes: a group is repaired if it has at most one.
double independent_failure(const UnitLineTerms& terms, double bit_error) {
    const double wrong = -std::expm1(8 * std::log1p(-bit_error));
    double log_good = 0;
    double fails = 0;  // the sum of the groups, exact as long as it is small
    for (std::uint32_t group = 0; group < terms.groups; ++group) {
        const auto bytes =
            static_cast<double>((terms.unit + terms.groups - 1 - group) / terms.groups);
        double several = 0;
        double probability =
            bytes * (bytes - 1) / 2 * wrong * wrong * std::exp((bytes - 2) * std::log1p(-wrong));
        for (double k = 2; k <= bytes; ++k) {
            several += probability;
            probability *= (bytes - k) / (k + 1) * wrong / (1 - wrong);
        }
        fails += several;
        log_good += std::log1p(-std::min(several, 1 - 1e-16));
    }
    return fails < 1e-9 ? fails : -std::expm1(log_good);
}

}  // namespace

std::uint32_t unrepaired_groups(const UnitLineTerms& terms, std::span<const UnitEvent> events) {
    WrongBytes wrong(terms);
    for (const UnitEvent& event : events) wrong.hit(event);
    return wrong.unrepaired();
}

double unit_event(const UnitLineTerms& terms, double bit_error) {
    return -std::expm1(static_cast<double>(8 * terms.unit) * std::log1p(-bit_error));
}

double unit_failure(const UnitLineTerms& terms, double bit_error) {
    if (bit_error == 0) return 0;
    if (!terms.corrects) return unit_event(terms, bit_error);
    if (terms.burst_bits == 1 && (terms.correlation == 0 || terms.lanes == 1)) {
        return independent_failure(terms, bit_error);
    }
    const double r = terms.lanes > 1 ? terms.correlation : 0;
    const double one = (1 - r) * one_event_fails(terms) + r * correlated_event_fails(terms);
    // Three hits are repaired only if each is one byte and in a group of its own. A correlated
    // event is two hits.
    const auto n = static_cast<double>(terms.groups);
    const double three_good = std::pow(touches_one(terms), 3) * (n - 1) * (n - 2) / (n * n);
    const double two_good =
        (1 - r) * (1 - r) * (1 - two_events_fail(terms)) + 2 * r * (1 - r) * three_good;
    double fails = 0;
    for_each_count(terms.unit, bit_error, [&](std::size_t events, double probability) {
        if (events == 1) fails += probability * one;
        if (events == 2) fails += probability * (1 - two_good);
        if (events == 3) fails += probability * (1 - std::pow(1 - r, 3) * three_good);
        if (events > 3) fails += probability;
    });
    return fails;
}

double unit_undetected(const UnitLineTerms& terms, double bit_error) {
    const bool doubled = terms.lanes > 1 && terms.correlation > 0;
    const std::uint32_t of_event =
        (terms.check_symbol == 1 ? terms.burst_bits : touched(7, terms.burst_bits)) *
        (doubled ? 2 : 1);
    // A code that "repairs" a good byte makes it wrong, one in each group.
    const std::uint32_t by_code = terms.corrects ? terms.groups : 0;
    const std::uint32_t by_line = terms.check_finds + 1 - std::min(by_code, terms.check_finds);
    const std::uint32_t least = (by_line + of_event - 1) / of_event;
    double many = 0;
    for_each_count(terms.unit / terms.check_parts, bit_error,
                   [&](std::size_t events, double probability) {
                       if (events >= least) many += probability;
                   });
    // A check that finds three wrong bits, but not four, has a parity: it finds each odd number.
    // Then it misses twice as many of the even ones.
    const bool parity = terms.check_symbol == 1 && terms.check_finds % 2 == 1;
    const double bad = std::min(terms.check_parts * many, unit_failure(terms, bit_error));
    return std::ldexp(bad, -static_cast<int>(terms.check_bits - (parity ? 1 : 0)));
}

double failures_in_time(const UnitLineTerms& terms, double bit_error, double bytes_per_second) {
    constexpr double seconds = 1e9 * 3600;
    const double units = bytes_per_second / static_cast<double>(terms.unit) * seconds;
    return unit_undetected(terms, bit_error) * units;
}

UnitLine::UnitLine(const UnitLineTerms& terms, double bit_error, std::uint64_t seed)
    : terms_(terms),
      far_((std::uint64_t{1} << 61) / (8 * terms.unit)),
      bit_error_(bit_error),
      random_(seed) {
    WIREPROOF_CHECK(terms.unit >= 1 && terms.unit <= 4096);
    WIREPROOF_CHECK(terms.lanes >= 1 && terms.lanes <= 64);
    WIREPROOF_CHECK(terms.check_parts >= 1 && terms.unit % terms.check_parts == 0);
    WIREPROOF_CHECK(terms.groups >= 1 && terms.groups <= groups_max && terms.burst_bits >= 1);
    // A single event matters only if it can make the unit bad.
    double share = 1;
    if (terms.corrects && one_event_fails(terms) == 0) {
        one_is_correlated_ = true;
        share = correlated_event_fails(terms) > 0 ? terms.correlation : 0;
    }
    if (bit_error > 0) {
        for_each_count(terms.unit, bit_error, [&](std::size_t events, double probability) {
            if (events == 1) one_ = share * probability;
            if (events > 1) more_ += probability;
        });
    }
    draw();
}

bool UnitLine::next_is_bad() {
    if (clean_ > 0) {
        --clean_;
        return false;
    }
    const Fate fate = next_;
    counts_.detected += fate == Fate::detected ? 1 : 0;
    counts_.miscorrected += fate == Fate::miscorrected ? 1 : 0;
    draw();
    // A stretch that was too long to draw at once goes on.
    return fate != Fate::good;
}

void UnitLine::skip(std::uint64_t units) {
    WIREPROOF_CHECK(units <= clean_);
    clean_ -= units;
}

// Draws the distance of the next unit that may be bad, until one is bad.
void UnitLine::draw() {
    clean_ = 0;
    next_ = Fate::good;
    while (clean_ < far_) {
        const std::uint64_t gap = draw_gap();
        clean_ += gap;
        if (gap == far_) return;
        next_ = draw_fate();
        if (next_ != Fate::good) return;
        ++clean_;
    }
}

std::uint64_t UnitLine::draw_gap() {
    const double matters = one_ + more_;
    if (matters <= 0) return far_;
    if (matters >= 1) return 0;
    const double gap = std::floor(std::log1p(-random_.uniform()) / std::log1p(-matters));
    return gap < static_cast<double>(far_) ? static_cast<std::uint64_t>(gap) : far_;
}

/// The number of events in a unit that may be bad.
std::size_t UnitLine::draw_count(bool& correlated) {
    double left = random_.uniform() * (one_ + more_);
    if (left < one_) {
        correlated = one_is_correlated_;
        return 1;
    }
    left -= one_;
    std::size_t count = 2;
    for_each_count(terms_.unit, bit_error_, [&](std::size_t events, double probability) {
        if (events < 2 || left < 0) return;
        count = events;
        left -= probability;
    });
    return count;
}

UnitEvent UnitLine::draw_event(std::uint64_t bit, bool correlated) {
    UnitEvent event{.byte = static_cast<std::uint32_t>(bit / 8)};
    event.touched = touched(static_cast<std::uint32_t>(bit % 8), terms_.burst_bits);
    event.hits_other =
        terms_.lanes > 1 &&
        (correlated || (terms_.correlation > 0 && random_.chance(terms_.correlation)));
    if (event.hits_other) {
        const std::uint32_t lane = event.byte % terms_.lanes;
        const auto other = static_cast<std::uint32_t>(random_.below(terms_.lanes - 1));
        event.other_byte = event.byte - lane + (other < lane ? other : other + 1);
    }
    return event;
}

UnitLine::Fate UnitLine::draw_fate() {
    bool correlated = false;
    const std::size_t count = std::min(draw_count(correlated), events_max);
    std::array<std::uint64_t, events_max> bits{};
    std::array<UnitEvent, events_max> events{};
    for (std::size_t i = 0; i < count; ++i) {
        const auto drawn = bits.begin() + static_cast<std::ptrdiff_t>(i);
        do {
            bits[i] = random_.below(8 * terms_.unit);
        } while (std::find(bits.begin(), drawn, bits[i]) != drawn);
        events[i] = draw_event(bits[i], correlated);
    }
    if (!terms_.corrects) return Fate::detected;
    const std::uint32_t unrepaired = unrepaired_groups(terms_, {events.data(), count});
    if (unrepaired == 0) return Fate::good;
    for (std::uint32_t group = 0; group < unrepaired; ++group) {
        if (!random_.chance(terms_.miscorrects)) return Fate::detected;
    }
    return Fate::miscorrected;
}

}  // namespace wireproof::lab
