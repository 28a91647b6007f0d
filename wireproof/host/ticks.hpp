// The processor's own counter of time. To read it costs a third of a question to the system.
// Compare it only with itself, or with readings of a clock at the same moment (spin_clock.hpp).
#pragma once

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

namespace wireproof::host {

#if defined(__x86_64__)
inline std::uint64_t ticks() {
    return __rdtsc();
}

/// Whether the ticks have one rate in all states of the processor, including sleep.
inline bool ticks_are_steady() {
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    return __get_cpuid(0x8000'0007, &a, &b, &c, &d) != 0 && (d >> 8 & 1) != 0;
}
#else
inline std::uint64_t ticks() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                                      std::chrono::nanoseconds(1));
}
inline bool ticks_are_steady() {
    return true;
}
#endif

}  // namespace wireproof::host
