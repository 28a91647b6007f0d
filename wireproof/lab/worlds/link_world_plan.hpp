// What happens in a random world of a link: its line, its faults, its events and its messages.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "wireproof/base/random.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/lab/engines/drawn_link.hpp"
#include "wireproof/lab/engines/link_figures.hpp"

namespace wireproof::lab {

struct LinkWorldEvent {
    enum class What : std::uint8_t {
        new_life,  // of both ends; frames in flight are lost
        training,  // the line below an end trains, if the engine has that
        trained,
        cut,  // one direction loses all frames
        mended,
        pause,  // the host of an end stands still for `length`
        copy,   // an engine is replaced with a copy of itself
    };
    Instant at;
    What what = What::copy;
    std::size_t node = 0;
    Duration length{};
};

/// What the plan must know of the engine.
struct LinkWorldTerms {
    std::size_t message_max = 0;  // bytes
    std::size_t frame_max = 0;
    std::uint64_t window = 0;  // messages that may be unacknowledged
    bool may_lose = true;
    bool may_go_down = false;
};

struct LinkWorldPlan {
    /// The line.
    explicit LinkWorldPlan(std::uint64_t seed);
    /// The rest.
    void fill_in(const LinkWorldTerms& terms);

    Random dice;
    bool datagrams = false;  // frames travel in datagrams between processes
    LinkFigures line;
    FaultRates rates;
    LossBursts bursts;
    std::array<std::vector<std::vector<std::byte>>, 2> messages;  // by sender
    std::vector<LinkWorldEvent> events;                           // by time
    Instant faults_end;
    /// On a line without faults, everything would have been delivered long before.
    Instant end;
    double hesitation = 0;  // the probability that a user waits before a message
    Duration wait;          // that long
    std::uint64_t network_seed = 0;
    std::string what;
};

}  // namespace wireproof::lab
