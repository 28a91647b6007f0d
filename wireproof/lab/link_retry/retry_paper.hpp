// The comparison of PCI Express and HIPPI-6400 in section 5 of the comparison paper
// (docs/rules/hippi.md): its figures as printed, its arithmetic done exactly, and its costs without
// the errors of method.
#pragma once

#include <array>
#include <string_view>

#include "wireproof/lab/link_retry/retry_forms.hpp"

namespace wireproof::lab::paper {

inline constexpr LineUnit tlp{4096, 28};
inline constexpr LineUnit micropacket{32, 8};
inline constexpr double dllp_bytes = 8;

inline constexpr double printed_crossover = 1.56e-5;

/// The loops of the paper, in lost units: the cost of a failure, including the bad unit.
inline constexpr double tlps_lost = 3;
inline constexpr double micropackets_lost = 50;
/// Loops in bytes that have these costs and are not a multiple of the unit; and one loop for both
/// sides.
inline constexpr double tlp_loop = 6186;
inline constexpr double micropacket_loop = 1940;
inline constexpr double equal_loop = 2000;

/// The paper's ETR of a message of 4096 bytes after `retries` retries: 4 k packets for k retries on
/// one side, 1 + k loops on the other.
double tlp_etr_printed(int retries);
/// The same, but with the first transmission counted once.
double tlp_etr(int retries);
double micropacket_etr(int retries);

/// The paper's averages of these ETRs over the number of retries, if a message has an error with
/// probability `message_error`.
double tlp_average(double message_error);
double micropacket_average(double message_error);
/// The probability at which these two averages are equal, to all digits. The paper rounds it to
/// 0.40.
double equal_message_error();
/// The bit error rate at which a message of 4096 bytes has an error with this probability.
double message_bit_error(double message_error);

/// The ETR without errors, with one DLLP for each TLP in the same direction.
double tlp_etr_with_acks();

/// The comparisons that remain valid: scheme (i) with the paper's costs, and with equal loops.
std::array<RetryCurve, 2> corrected_curves();
std::array<RetryCurve, 2> curves_with_loop(double loop);
/// The lowest and the highest crossover of these curves, for all loops from `first` to `last`
/// bytes.
std::array<double, 2> crossovers_with_loops(double first, double last);

/// A line of the paper's table: the printed value, and the value that follows from its own figures.
struct Figure {
    std::string_view what;
    double printed;
    double recomputed;
};
std::array<Figure, 11> figures();

}  // namespace wireproof::lab::paper
