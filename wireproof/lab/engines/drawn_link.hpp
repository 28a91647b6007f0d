// A random configuration of a link engine, for random worlds (lab/worlds/link_world_run.hpp).
#pragma once

#include <string>

#include "wireproof/base/instant.hpp"
#include "wireproof/base/random.hpp"

namespace wireproof::lab {

template <class Config>
struct DrawnLink {
    Config config;       // check() accepts it
    std::string what{};  // a few words
    /// The line has room for a frame only after the frame before has left.
    bool one_at_a_time = false;
    /// An end that has nothing to do falls silent. False: it sends forever (credits, idle flits).
    bool rests = true;
    /// The engine may take the link down by itself. Then messages are lost.
    bool may_go_down = false;
    /// Each direction goes down alone: an end that is down may still receive.
    bool ways_apart = false;
    /// A timer may expire before an answer can arrive. Then only delivery is checked, not its cost.
    /// Only with one_at_a_time, or the frames that wait to leave become more and more.
    bool hasty = false;
    /// A resent frame may hide an answer, so that one timeout may cause the next.
    bool echoes = false;
    /// The engine finds each damaged bit by itself. False: the line marks damaged frames.
    bool checks_all = true;
    /// After the last fault the link needs no longer than this to recover.
    Duration patience{};
};

/// From `least` to `most`, both included.
inline std::uint32_t between(Random& dice, std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(dice.below(std::uint64_t{most} - least + 1));
}

/// From `least` to `most` times the time.
inline Duration about(Random& dice, Duration time, double least, double most) {
    const double scale = least + (most - least) * dice.uniform();
    return Duration(static_cast<std::int64_t>(static_cast<double>(time.picoseconds()) * scale));
}

/// How many of `part` the time has, without the rest.
inline std::uint32_t parts_in(Duration time, Duration part) {
    return static_cast<std::uint32_t>(time.picoseconds() / part.picoseconds());
}

}  // namespace wireproof::lab
