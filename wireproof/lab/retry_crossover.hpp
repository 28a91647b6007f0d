// The bit error rate at which two simulated links are worth the same (section 5 of the analysis).
#pragma once

#include "wireproof/lab/retry_point.hpp"

namespace wireproof::lab {

/// One side: how it is set up, and how many units are simulated at each rate.
struct CrossoverSide {
    RetrySettings settings;
    std::uint64_t packets = 0;
};

struct SimulatedCrossover {
    double bit_error = 0;
    double standard_error = 0;  // of it, from those of the ETRs
};

/// At 0.8, 0.9, 1, 1.1 and 1.25 times `near`, a straight line through the difference of the ETRs
/// over ln b; its zero. Errors are those of the settings, or of lines that never meet.
Expected<SimulatedCrossover> simulate_crossover(const CrossoverSide& left,
                                                const CrossoverSide& right, double near,
                                                std::uint64_t seed);

/// The engines as that section sets them up: 4096-byte TLPs and micropackets, a way back without
/// errors; the TLPs with a fresh notice for every failure, or as specified.
std::array<CrossoverSide, 2> crossover_sides(double tlp_loop, double micropacket_loop,
                                             bool renak_on_bad_head);

}  // namespace wireproof::lab
