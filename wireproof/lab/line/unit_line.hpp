// A line that carries units of one length, such as flits, over several lanes. An error event spoils
// one bit, or some bits in a row on its lane. An error-correcting code in the unit repairs some
// events; a cyclic redundancy check finds what the code did not repair. The model makes no bytes of
// code or check: it counts wrong bytes and decides.
//
//   byte i of a unit: on lane i mod lanes, in group i mod groups of the code
//
//   wrong bytes of a group      the code
//   0                           sees nothing
//   1                           repairs it
//   2 or more                   says that it cannot repair them, or "repairs" a good byte: then the
//                               check finds it
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "wireproof/base/random.hpp"

namespace wireproof::lab {

struct UnitLineTerms {
    std::size_t unit = 256;    // bytes, with code and check; at most 4096
    bool corrects = true;      // false: a unit with a wrong byte is bad
    std::uint32_t lanes = 16;  // at most 64
    /// Bits in a row on a lane that an event spoils; all bytes that it touches are wrong. The
    /// unit's end also ends the event.
    std::uint32_t burst_bits = 1;
    double correlation = 0;    // share of events that also hit another lane, in the same symbol
    std::uint32_t groups = 3;  // interleaved parts of the code, 1 to 8; each repairs one byte
    /// Probability that a group with several wrong bytes looks as if one byte of it could be
    /// repaired.
    double miscorrects = 85.0 / 255;
    std::uint32_t check_bits = 64;   // of the cyclic redundancy check
    std::uint32_t check_parts = 1;   // of the unit, equally long, each with a check of its own
    std::uint32_t check_symbol = 8;  // bits: 8, or 1
    std::uint32_t check_finds = 8;   // a check finds so many wrong symbols, wherever they are

    friend bool operator==(const UnitLineTerms&, const UnitLineTerms&) = default;
};

/// One error event: the first byte, the number of bytes that it touches on its lane, and the same
/// on another lane if the event hit two.
struct UnitEvent {
    std::uint32_t byte = 0;
    std::uint32_t touched = 1;
    std::uint32_t other_byte = 0;
    bool hits_other = false;
};

/// The number of groups of the code that cannot repair the unit.
std::uint32_t unrepaired_groups(const UnitLineTerms& terms, std::span<const UnitEvent> events);

// Closed forms. `bit_error` is the probability that an event begins with a bit, 0 to 0.1. With
// bursts of one bit and no correlation they are exact. Otherwise terms of a relative size of 0.01
// and of three or more events are approximate.

/// The probability that a unit is bad behind code and check.
double unit_failure(const UnitLineTerms& terms, double bit_error);
/// The probability that at least one event begins in a unit.
double unit_event(const UnitLineTerms& terms, double bit_error);
/// A bound of the probability that a unit is bad and neither code nor check finds it. Such a unit
/// has more wrong symbols than the check finds wherever they are, and is then like a random one.
double unit_undetected(const UnitLineTerms& terms, double bit_error);
/// Units that are bad and not found in 10^9 hours.
double failures_in_time(const UnitLineTerms& terms, double bit_error, double bytes_per_second);

/// What became of the bad units that passed.
struct UnitLineCounts {
    std::uint64_t detected = 0;      // by the code; if there is none, by the check
    std::uint64_t miscorrected = 0;  // by the code, and found by the check
};

/// Draws which units are bad. Units that cannot be bad need no draw, so their number does not
/// matter. A regular value.
class UnitLine {
public:
    UnitLine(const UnitLineTerms& terms, double bit_error, std::uint64_t seed);

    const UnitLineTerms& terms() const { return terms_; }
    /// Passes the next unit. True: it is bad.
    bool next_is_bad();
    /// Units before the next bad one, or fewer if that is far away.
    std::uint64_t clean_units() const { return clean_; }
    /// The same as if so many units had passed, at most clean_units().
    void skip(std::uint64_t units);
    const UnitLineCounts& counts() const { return counts_; }

private:
    static constexpr std::size_t events_max = 64;  // more events in a unit change nothing

    enum class Fate : std::uint8_t { good, detected, miscorrected };

    void draw();
    std::uint64_t draw_gap();
    std::size_t draw_count(bool& correlated);
    UnitEvent draw_event(std::uint64_t bit, bool correlated);
    Fate draw_fate();

    UnitLineTerms terms_;
    std::uint64_t far_;  // units; the bits of twice as many can be counted
    double bit_error_;
    double one_ = 0;   // probability that a unit has one event that may make it bad
    double more_ = 0;  // probability that it has several events
    bool one_is_correlated_ = false;
    Random random_;
    std::uint64_t clean_ = 0;
    Fate next_ = Fate::good;  // of the unit after the clean ones
    UnitLineCounts counts_;
};

}  // namespace wireproof::lab
