// The modes of am_path, and what several of them use.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "wireproof/base/check.hpp"

namespace wireproof {

/// This thread runs on this processor only.
inline void pin(int processor) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<unsigned>(processor), &set);
    WIREPROOF_CHECK(pthread_setaffinity_np(pthread_self(), sizeof set, &set) == 0);
}

/// The nanoseconds of the fastest of five runs.
template <class Run>
double best_of_five(Run&& run) {
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < 5; ++i) {
        const auto from = std::chrono::steady_clock::now();
        run();
        const std::chrono::duration<double, std::nano> took =
            std::chrono::steady_clock::now() - from;
        best = std::min(best, took.count());
    }
    return best;
}

void measure_shm(long);

namespace am {

void measure_engine(long turns);
void measure_software(long count);
void measure_round_trip(long slices);

}  // namespace am
}  // namespace wireproof
