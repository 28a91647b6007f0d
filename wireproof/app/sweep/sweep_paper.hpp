// Section 5 of the comparison paper: its figures as printed, recomputed and simulated.
#pragma once

#include <array>
#include <functional>
#include <string>

#include "wireproof/lab/link_retry/retry_crossover.hpp"

namespace wireproof::app {

struct SweepPaper {
    struct Crossover {
        double closed_form = 0;
        lab::SimulatedCrossover simulated;
    };
    /// A bit error rate, with the paper's loops: closed form and simulation of each side.
    struct Row {
        double bit_error = 0;
        std::array<double, 2> closed_form{};  // TLP, micropacket
        std::array<double, 2> simulated{};
    };
    // The bit error rates at which both protocols have the same ETR:
    double recomputed = 0;      // by the paper's own arithmetic, done exactly
    Crossover costs_corrected;  // with the paper's loops, without its errors of method
    Crossover equal_loop_2000;
    Crossover equal_loop_as_specified;  // form (ii): no fresh Nak for a bad head
    std::array<Row, 6> rows{};
};

/// Calls `progress(done)` now and then, with the number of steps that are done: 0 to 2. It may
/// throw.
SweepPaper sweep_paper(std::uint64_t seed, const std::function<void(int)>& progress);

std::string paper_json(const SweepPaper& paper, std::uint64_t seed);
std::string paper_table(const SweepPaper& paper, std::uint64_t seed);
/// A page that opens offline.
std::string paper_html(const SweepPaper& paper, std::uint64_t seed);

}  // namespace wireproof::app
