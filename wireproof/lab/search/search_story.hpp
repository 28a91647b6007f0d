// What a search found, told to a person and to a file: the moves that lead there with the frames
// that they move.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "wireproof/core/engine.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/lab/search/search.hpp"

namespace wireproof::lab {

struct SearchStep {
    SearchMove move;
    FrameInfo info{};       // of the frame that leaves, arrives or is lost
    std::size_t frame = 0;  // which one that its end put on the wire, counted from 1
    std::vector<std::size_t> overtaken = {};  // frames of the same end that it passed
    std::optional<RxVerdict> verdict = {};    // of one that arrived
    std::string delivered = {};               // what it had handed up: "message 3"
};

/// One line of at most 80 columns a move, A left and B right; before the step `circle` it says that
/// all below is repeated for ever.
///
///         A                                     B
///      1  |---- data 4 ------------------------>|  accepted, message 1
///      2  |                  x------- null 0 ---|  lost
std::string search_ladder(const std::vector<SearchStep>& steps, std::size_t circle);

/// What a scenario file needs besides the steps.
struct SearchScenario {
    std::string name{};
    std::string title{};
    std::string protocol{};
    std::string engine{};                     // lines of its table [engine]
    bool any_window = false;                  // which is none of the engine's own figures
    std::array<std::uint32_t, 2> messages{};  // by the end that sends
    std::uint32_t bytes = 1;                  // of each
};

/// A scenario with the same fate for the same frames: the nth of a kind and number each way.
/// Time is the scenario's own: when frames leave and timers end is not carried over.
std::string search_scenario(const SearchScenario& about, const std::vector<SearchStep>& steps);

/// Some timer ends early.
bool is_hasty(const std::vector<SearchStep>& steps);

}  // namespace wireproof::lab
