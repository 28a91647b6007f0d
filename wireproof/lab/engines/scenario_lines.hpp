// Lines of the table [engine] in a scenario that replays the counterexample of a search.
#pragma once

#include <cstdint>
#include <string>

#include "wireproof/base/instant.hpp"

namespace wireproof::lab {

/// The timer of an engine in a search. Only its order among the timers of the engine matters.
inline constexpr Duration search_timer = Duration::microseconds(1);
/// A timer that expires before an answer can arrive, in nanoseconds.
inline constexpr std::uint32_t hasty_ns = 100;

inline std::string scenario_line(const char* key, const std::string& value) {
    return std::string(key) + " = " + value + "\n";
}
inline std::string scenario_line(const char* key, std::uint64_t value) {
    return scenario_line(key, std::to_string(value));
}

}  // namespace wireproof::lab
