// Two measurements: every pair of nodes (0 and 1, 2 and 3 …) runs them at the same time, and checks
// each byte that it receives. With an odd number of nodes, the last one does nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "wireproof/lab/sp2/sp2_am.hpp"

namespace wireproof::lab {

/// One figure over all pairs of a machine.
struct Sp2PerPair {
    double mean = 0;
    double worst = 0;
    bool verified = false;  // every message and byte arrived and was right
};

/// Called now and then with the share of the measurement that is done.
using Sp2Progress = std::function<void(double part)>;

/// Microseconds from one answered one-word request to the next. The requester only waits in
/// between.
struct Sp2PingPong {
    std::uint64_t warm_up = 100;
    std::uint64_t counted = 1000;
};
Sp2PerPair measure_round_trip(const Sp2AmConfig& config, const Sp2PingPong& plan,
                              const Sp2Progress& progress = {});

/// Bytes a second in a stream of asynchronous stores of one size, measured at the receiver between
/// the ends of two stores.
struct Sp2Stream {
    std::size_t store_bytes = std::size_t{1} << 20;
    std::uint64_t outstanding = 2;  // stores that have begun and not ended
    std::uint64_t warm_up = 2;      // stores
    std::uint64_t counted = 8;
};
Sp2PerPair measure_bandwidth(const Sp2AmConfig& config, const Sp2Stream& plan,
                             const Sp2Progress& progress = {});

}  // namespace wireproof::lab
