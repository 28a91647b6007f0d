// The bit error rate at which two simulated links have the same ETR (section 5 of the analysis).
#pragma once

#include "wireproof/lab/link_retry/retry_point.hpp"

namespace wireproof::lab {

/// One side: its settings, and how many units are simulated at each rate.
struct CrossoverSide {
    RetrySettings settings;
    std::uint64_t packets = 0;
};

struct SimulatedCrossover {
    double bit_error = 0;
    double standard_error = 0;  // of bit_error; follows from the errors of the ETRs
};

/// At one bit error rate: the ETR of one side minus that of the other, and the variance.
struct EtrDifference {
    double bit_error = 0;
    double difference = 0;
    double variance = 0;
};
inline constexpr std::size_t crossover_rates = 5;

/// The zero of the parabola over ln b that fits the differences best. A straight line is not good
/// enough: the differences lie on a curve, and a line through rates 20 % on either side is wrong by
/// up to 1 %. The rates must rise. Returns an error if the parabola has no zero between the first
/// and the last rate.
Expected<SimulatedCrossover> fitted_crossover(
    const std::array<EtrDifference, crossover_rates>& measured);

/// Simulates both sides at 0.8, 0.9, 1, 1.1 and 1.25 times `near`, and fits. Returns errors of the
/// settings and of the fit.
Expected<SimulatedCrossover> simulate_crossover(const CrossoverSide& left,
                                                const CrossoverSide& right, double near,
                                                std::uint64_t seed);

/// The engines with the settings of that section: 4096-byte TLPs and micropackets, and a way back
/// without errors. The TLPs either have a fresh notice for every failure, or follow the
/// specification.
std::array<CrossoverSide, 2> crossover_sides(double tlp_loop, double micropacket_loop,
                                             bool renak_on_bad_head);

/// The closed forms of two sides whose way back has no errors. The simulation should give the same.
Expected<std::array<RetryCurve, 2>> closed_forms_of(const std::array<CrossoverSide, 2>& sides);

}  // namespace wireproof::lab
