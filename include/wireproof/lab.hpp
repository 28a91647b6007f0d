// Link-level retry in a laboratory: one point of a sweep, and ladders, from C++. A saturated sender
// on a line with bit errors is simulated with the engines that carry live traffic, next to what the
// closed form says; a rate of 1e-15 is reached by jumping over what repeats between two errors.
//
// Lengths and times are bytes on the line. A call depends on its arguments only: the same seed
// gives the same figures on every machine. Calls share nothing, so any threads may make them at
// once; each runs in its caller's thread and returns values that are the caller's own. This header
// stands alone: it includes the standard library only.
//
// What is counted, the closed forms and their limits: docs/link-retry.md. Ladders: docs/ladders.md.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/export.hpp"
#include "wireproof/result.hpp"

namespace wireproof::lab {

using wireproof::Result;

/// What `PointSettings::protocol` may be: the engines, and the models beside them.
WIREPROOF_EXPORT std::vector<std::string_view> point_protocols();

/// What is varied. 0 stands for what the protocol itself would choose, where it says so.
struct PointSettings {
    std::string protocol = "pcie";
    double bit_error_rate = 0;     // of each bit, independent, both ways: 0, or 1e-17 to 0.1
    bool clean_back = false;       // none on the way back
    double notice_loss = 0;        // probability that a notice (a Nak, a repeated number) vanishes
    std::uint32_t payload = 4096;  // bytes of a message, 1 to 65536
    std::uint64_t loop = 2000;     // bytes, from a bad unit's end until the first resent may start
    std::uint32_t buffer = 0;      // units that may be unacknowledged; 0: the protocol's choice
    std::uint32_t ack_every = 0;   // units for each acknowledgement; 0: the protocol's choice
    std::uint64_t timer = 0;  // bytes after which silence is a failure; 0: the protocol's choice
    bool renak_on_bad_head = false;  // pcie: a resent TLP that is bad draws another Nak
    bool loaded_back = false;        // the other direction is saturated, too

    /// Gilbert-Elliott losses of forward frames, units or not, drawn frame by frame: probabilities
    /// of entering and of leaving the bad state, and of a frame's being bad in it. `begin` 0: none.
    struct Bursts {
        double begin = 0;
        double end = 1;
        double bad = 1;
    };
    Bursts bursts{};
};

/// How long, and how.
struct PointPlan {
    std::uint64_t packets = 0;     // exactly so many units; 0: until the relative error is reached
    double relative_error = 0.02;  // one standard error of the resend ratio, divided by it
    std::uint64_t packets_max = 1'000'000'000'000'000'000;  // of what ends by its error
    bool jump = true;        // off: every frame is simulated, with the same figures
    std::uint64_t seed = 1;  // of the bit errors
    /// Told some times a second, or more often, of the share that is done, 0 to 1, as far as that
    /// is foreseen; by `draw_first_failure`, which cannot foresee it, 0. What it throws ends the
    /// point and comes through.
    std::function<void(double)> progress = {};
};

/// What came of a point. Counts above 2^53 are as exact as a double is.
struct PointFigures {
    double packets = 0;                    // units that the receiver took
    double etr = 0;                        // payload over all bytes put on the line for it
    double throughput = 0;                 // payload over the line's time
    double resend_ratio = 0;               // units sent in vain for each that was taken
    std::optional<double> relative_error;  // of it; nothing where nothing was sent in vain

    std::optional<double> closed_etr;    // by the closed form, where there is one
    std::optional<double> closed_ratio;  // the same
    std::optional<double> deviation;     // of the resend ratio from it, in its standard errors

    double resent = 0;  // units
    double timeouts = 0;
    double notices = 0;      // frames that asked for a replay
    double acks = 0;         // frames for nothing but to acknowledge
    double frames = 0;       // put on the line, both ways
    double line_bytes = 0;   // how long it took
    double jumped = 0;       // of the packets: not simulated one by one
    double unit_bytes = 0;   // of one unit on the line
    double buffer_mean = 0;  // units in the replay buffer
    std::uint64_t buffer_most = 0;
    /// From a unit's first departure until it is taken, bytes: 50, 99, 99.9 and 100 %.
    std::array<std::uint64_t, 4> latency{};
};

/// Simulates it. Failure, in one line: settings that cannot work, a protocol that is none of
/// `point_protocols`, or a link that comes to rest.
WIREPROOF_EXPORT Result<PointFigures> run_point(const PointSettings& settings,
                                                const PointPlan& plan = {});

/// A small exchange, frame by frame.
struct DrawnLadder {
    std::string name;
    std::string text;        // for 80 columns, in ASCII but for names that are not
    std::string svg;         // one element, self-contained, in light or dark colours
    std::size_t frames = 0;  // that are drawn
};

/// The first failure of the run that `run_point` makes of these. Long stretches of like frames are
/// cut to their ends. Failure: as of `run_point`, a model, which has no frames, or a run in which
/// nothing is sent in vain.
WIREPROOF_EXPORT Result<DrawnLadder> draw_first_failure(const PointSettings& settings,
                                                        const PointPlan& plan = {});

/// The scenario that this TOML describes, as `wireproof ladder FILE` draws it. Failure: its first
/// mistake as "scenario:LINE:COLUMN: what", or ends that do not come up.
WIREPROOF_EXPORT Result<DrawnLadder> draw_scenario(std::string_view toml);

}  // namespace wireproof::lab
