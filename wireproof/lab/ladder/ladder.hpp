// What happened in a scenario, frame by frame: the real engines, on two simulated cables. Frames
// are listed in the order in which they were put on the link.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/core/engine.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/lab/ladder/scenario.hpp"

namespace wireproof::lab {

/// A frame came out at the other end; one that the link repeated does so twice.
struct LadderArrival {
    Duration time{};
    RxVerdict verdict = RxVerdict::control;
    std::vector<std::string> delivered = {};  // what it had handed up: "message 3"
};

struct LadderFrame {
    Duration time{};  // its first byte leaves
    Side from = Side::a;
    FrameInfo info{};
    bool resent = false;
    Fate fate{};
    std::vector<LadderArrival> arrivals = {};  // none: lost, or still on its way at the end
    std::vector<std::byte> bytes = {};         // as sent

    /// The number that it carries besides its own: of an Ack, Nak or null the number is the own.
    std::optional<std::uint32_t> ack_besides() const;
    /// It arrived whole, and was not taken.
    bool refused() const;
    /// In one word: delivered, lost, damaged, duplicated, refused.
    std::string_view fate_word() const;
};

/// What an end did though nothing arrived.
struct LadderNote {
    Duration time{};
    Side side = Side::a;
    std::string text = {};   // "timer"
    std::size_t before = 0;  // of the frames: the one that was sent next
};

/// What an end has counted since the start of the ladder.
struct LadderCounts {
    std::uint64_t frames = 0;  // sent, of any kind
    std::uint64_t resent = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t asked = 0;      // of its user, and accepted
    std::uint64_t delivered = 0;  // messages and handlers run here
};

enum class LadderEnd : std::uint8_t { idle, time_limit, frame_limit };

/// What times of a ladder are, which are picoseconds to the engines.
enum class LadderClock : std::uint8_t { time, line_bytes };

struct Ladder {
    std::string name;
    std::string title;
    std::string_view protocol;  // its name, a literal
    std::vector<LadderFrame> frames;
    std::vector<LadderNote> notes;
    LadderClock clock = LadderClock::time;
    std::optional<std::array<LadderCounts, 2>> counts;  // nothing of a part of a longer run
    LadderEnd end = LadderEnd::idle;
    Duration ended{};
    /// The first delivery that was not what was sent, as it should never be; empty if none.
    std::string wrong;
};

/// The same scenario gives the same ladder. Fails only if the ends cannot come up.
Expected<Ladder> run_scenario(const Scenario& scenario);

}  // namespace wireproof::lab
