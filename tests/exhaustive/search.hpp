// Breadth-first search over two engines and the frames between them: every order in which frames
// may leave, arrive, be overtaken, repeated and lost, with so many faults in all, wherever they
// fall. Safety in every state; and from every state the run without further faults finishes.
//
// A frame may stay on its way for as long as it likes, so no number may come twice: the circle must
// be larger than a world's messages and window need. Faults are counted, because each lets the
// round grow, and with it the number of states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/exhaustive/tiny_world.hpp"

namespace wireproof::tiny {

struct SearchLimits {
    std::size_t in_flight = 2;  // frames, each way
    std::uint32_t faults = 2;
    std::size_t states = 100'000;  // more mean that something goes on for ever
};

struct SearchResult {
    std::string violation;  // the first; empty: none
    std::size_t states = 0;
};

SearchResult search(const am::Config& config, const Programs& programs, const SearchLimits& limits);

}  // namespace wireproof::tiny
