// Shows the result of a search to a reader and writes it to a file: the moves of the path, with the
// frames that they move.
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
    FrameInfo info{};       // the frame that leaves, arrives or is lost
    std::size_t frame = 0;  // its index among the frames of its end, counted from 1
    std::vector<std::size_t> overtaken = {};  // indices of frames of the same end that it overtook
    std::size_t intact_front = 0;             // of a frame whose tail is damaged
    std::optional<RxVerdict> verdict = {};    // about a frame that arrived
    std::string delivered = {};               // what the end delivered then: "message 3"
};

/// One line of at most 80 columns for each move, A left and B right. Before the step `circle`, a
/// line says that everything below repeats forever.
///
///         A                                     B
///      1  |---- data 4 ------------------------>|  accepted, message 1
///      2  |                  x------- null 0 ---|  lost
std::string search_ladder(const std::vector<SearchStep>& steps, std::size_t circle);

/// The settings of a scenario file, in addition to the steps.
struct SearchScenario {
    std::string name{};
    std::string title{};
    std::string protocol{};
    std::string engine{};                     // lines of its table [engine]
    bool any_window = false;                  // a key of [engine] that is not in `engine`
    std::array<std::uint32_t, 2> messages{};  // by the end that sends
    std::uint32_t bytes = 1;                  // of each
};

/// A scenario in which the same frames meet the same fates. A frame is named by direction, kind,
/// number and count. The scenario has its own time: it does not copy when frames leave and timers
/// expire.
std::string search_scenario(const SearchScenario& about, const std::vector<SearchStep>& steps);

/// Whether any timer expires early.
bool is_hasty(const std::vector<SearchStep>& steps);

}  // namespace wireproof::lab
