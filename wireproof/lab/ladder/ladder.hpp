// The events of a scenario, frame by frame: the real engines on two simulated cables. Frames are
// listed in the order in which they were put on the link.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wireproof/core/engine.hpp"
#include "wireproof/core/fault_plan.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/lab/ladder/scenario.hpp"

namespace wireproof::lab {

/// The arrival of a frame at the other end. If the link repeats a frame, it arrives twice.
struct LadderArrival {
    Duration time{};
    RxVerdict verdict = RxVerdict::control;
    std::vector<std::string> delivered = {};  // what the end delivered then: "message 3"
};

struct LadderFrame {
    Duration time{};  // when its first byte leaves
    Side from = Side::a;
    FrameInfo info{};
    bool resent = false;
    Fate fate{};
    std::vector<LadderArrival> arrivals = {};  // empty: lost, or in flight at the end
    std::vector<std::byte> bytes = {};         // as sent

    /// The acknowledged number, if the frame has it in addition to its own number. The own number
    /// of an Ack, Nak or null is already the acknowledged one.
    std::optional<std::uint32_t> ack_besides() const;
    /// It arrived undamaged, but the receiver did not take it.
    bool refused() const;
    /// In one word: delivered, lost, damaged, duplicated, refused.
    std::string_view fate_word() const;
};

/// An event at an end without an arriving frame.
struct LadderNote {
    Duration time{};
    Side side = Side::a;
    std::string text = {};   // "timer"
    std::size_t before = 0;  // index of the frame that was sent next
};

/// The counts of an end since the start of the ladder.
struct LadderCounts {
    std::uint64_t frames = 0;  // sent, of any kind
    std::uint64_t resent = 0;
    std::uint64_t timeouts = 0;
    std::uint64_t asked = 0;      // messages that its user asked for and the engine accepted
    std::uint64_t delivered = 0;  // messages and handlers run here
};

enum class LadderEnd : std::uint8_t { idle, time_limit, frame_limit };

/// The meaning of the times of a ladder. For the engines they are picoseconds.
enum class LadderClock : std::uint8_t { time, line_bytes };

struct Ladder {
    std::string name;
    std::string title;
    std::string_view protocol;  // its name, a literal
    std::vector<LadderFrame> frames;
    std::vector<LadderNote> notes;
    LadderClock clock = LadderClock::time;
    std::optional<std::array<LadderCounts, 2>> counts;  // empty for a part of a longer run
    LadderEnd end = LadderEnd::idle;
    Duration ended{};
    /// The first delivery that differs from what was sent. Should always be empty.
    std::string wrong;
};

/// The same scenario always gives the same ladder. Fails only if the ends do not come up.
Expected<Ladder> run_scenario(const Scenario& scenario);

}  // namespace wireproof::lab
