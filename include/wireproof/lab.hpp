// Simulations of retransmission on a link with bit errors, and drawings of small exchanges
// (ladders).
//
// run_point simulates one setting of the link and returns its results: a point. The sender always
// has one more message to send. The simulation runs the protocol engines that also carry live
// traffic. For comparison, the results include those of a formula, the closed form. Between two bit
// errors the states of the link repeat. The simulation skips the repetitions, so it reaches bit
// error rates such as 1e-15.
//
// A unit is what the sender retransmits: a packet, or a micropacket of HIPPI-6400. All lengths and
// times are in bytes on the line: a time is the number of bytes that the line can carry in it.
//
// The results depend only on the arguments: the same seed gives the same results on each machine.
// Each call runs in the thread of its caller. Several threads may make calls at the same time.
// This header includes only the standard library and other public headers of Wireproof.
//
// PointSweep simulates all points of a grid.
//
// Pages in docs/guide/links: link-retry.md has the results, closed-forms.md the closed forms,
// ladders.md the ladders.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/export.hpp"
#include "wireproof/result.hpp"

namespace wireproof::lab {

using wireproof::Result;

/// The names that `PointSettings::protocol` may have: those of the engines ("pcie" and "rc", for
/// example), and two models for comparison, "go-back-n" and "ideal". The models have no engine, no
/// timers and no frames.
WIREPROOF_EXPORT std::vector<std::string_view> point_protocols();

/// The settings of a point. "Forward" is the direction from the sender to the receiver, "back" the
/// direction of the acknowledgements.
struct PointSettings {
    std::string protocol = "pcie";
    /// The probability that a bit is wrong, in both directions: 0, or 1e-17 to 0.1.
    double bit_error_rate = 0;
    bool clean_back = false;  // true: there are no bit errors back
    /// The probability that a notice is lost, in addition to bit errors. A notice tells the sender
    /// that a unit is missing: a Nak, for example.
    double notice_loss = 0;
    std::uint32_t payload = 4096;  // bytes of a message: 1 to 65,536, or fewer (see run_point)
    /// The time from the end of a damaged unit to the earliest start of its retransmission.
    std::uint64_t loop = 2000;
    // 0 in the next three: the library chooses a value for the protocol.
    std::uint32_t buffer = 0;     // how many units may be unacknowledged
    std::uint32_t ack_every = 0;  // how many units the receiver acknowledges together
    std::uint64_t timer = 0;      // how long the sender waits for an acknowledgement
    /// Only for pcie. True: if a retransmitted TLP is damaged, the receiver sends another Nak.
    /// False: the sender then waits for its timer.
    bool renak_on_bad_head = false;
    bool loaded_back = false;  // true: the receiver always has messages to send, too

    /// Bursts of bad frames forward, after the model of Gilbert and Elliott: the line has a good
    /// and a bad state.
    struct Bursts {
        double begin = 0;  // the probability that the bad state begins with a frame; 0: no bursts
        double end = 1;    // the probability that the bad state ends with a frame
        double bad = 1;    // the probability that a frame is bad in the bad state
    };
    Bursts bursts{};
};

/// How the simulation runs, and when it ends.
struct PointPlan {
    /// The simulation ends when the receiver has accepted this many units. 0: it ends when the
    /// relative error is small enough.
    std::uint64_t packets = 0;
    // Only if `packets` is 0: it ends when PointFigures::relative_error is at most this value, or
    // when the receiver has accepted `packets_max` units. If no unit can be bad, it ends after at
    // most 100,000 units.
    double relative_error = 0.02;
    std::uint64_t packets_max = 1'000'000'000'000'000'000;
    bool jump = true;        // false: each frame is simulated; the results are the same
    std::uint64_t seed = 1;  // of all random numbers
    /// The simulation calls it several times per second, with an estimate of the share that is
    /// done, 0 to 1. draw_first_failure has no estimate and always passes 0. If the function
    /// throws, the simulation ends, and the exception leaves the call of the library.
    std::function<void(double)> progress = {};
};

/// The results of a point. A count above 2^53 is rounded to a double.
struct PointFigures {
    double packets = 0;     // units that the receiver accepted
    double etr = 0;         // accepted payload, divided by the bytes of all units that were sent
    double throughput = 0;  // accepted payload, divided by the time
    /// Units that arrived and that the receiver did not accept, divided by `packets`. It does not
    /// accept a damaged unit, for example, and in go-back-N the units behind it.
    double resend_ratio = 0;
    /// The standard error of `resend_ratio`, divided by it. Nothing if `resend_ratio` is 0.
    std::optional<double> relative_error;

    // Nothing if there is no closed form for the settings (with bursts or `loaded_back`), or if it
    // does not describe the link: docs/guide/links/closed-forms.md says where.
    std::optional<double> closed_etr;    // `etr` by the closed form
    std::optional<double> closed_ratio;  // `resend_ratio` by the closed form
    /// `resend_ratio` minus `closed_ratio`, in standard errors.
    /// Nothing also if there are no bit errors.
    std::optional<double> deviation;

    double resent = 0;              // retransmissions of units
    double timeouts = 0;            // timers of the sender that expired
    double notices = 0;             // notices that the receiver sent
    double acks = 0;                // frames of the receiver that only acknowledge
    double frames = 0;              // all frames, in both directions
    double line_bytes = 0;          // the simulated time
    double jumped = 0;              // how many of the `packets` were not simulated one by one
    double unit_bytes = 0;          // the length of a unit on the line
    double buffer_mean = 0;         // how many units the replay buffer had, on average
    std::uint64_t buffer_most = 0;  // and at most
    /// The time from the first departure of a unit until the receiver accepts it. 50, 99, 99.9 and
    /// 100 % of the units take at most this time.
    std::array<std::uint64_t, 4> latency{};
    /// The closed form is there, but at the edge of its domain: it may be wrong by some per cent.
    bool closed_at_edge = false;
};

/// Simulates a point. Failure: error() says in one line which setting is not possible (a protocol
/// may have narrower limits than PointSettings), or that the link stopped: neither end sends
/// anything more.
WIREPROOF_EXPORT Result<PointFigures> run_point(const PointSettings& settings,
                                                const PointPlan& plan = {});

/// How a point of a sweep is simulated.
struct PointSweepRun {
    bool jump = true;                           // as PointPlan::jump
    std::function<void(double)> progress = {};  // as PointPlan::progress
    /// The simulation calls it as often. If it returns true, the point ends early: its results are
    /// those of the units so far, with "stopped": true.
    std::function<bool()> out_of_time = {};
};

/// The points of a sweep file, as `wireproof sweep FILE` simulates them:
/// docs/guide/links/sweeps.md describes the file. The seed of a point follows from the seed of
/// the sweep and the settings of the point. So the results of a point do not depend on who
/// simulates it, or in which order. A copy has its own seed and end. Several threads may call the
/// const functions at the same time.
class WIREPROOF_EXPORT PointSweep {
public:
    /// Failure: the first mistake in the text, as "sweep:LINE:COLUMN: mistake".
    static Result<PointSweep> read(std::string_view toml);

    PointSweep(const PointSweep&);
    PointSweep(PointSweep&&) noexcept;
    PointSweep& operator=(const PointSweep&);
    PointSweep& operator=(PointSweep&&) noexcept;
    ~PointSweep();

    const std::string& name() const;  // of the sweep; "sweep" if the text has none
    std::size_t points() const;       // how many there are
    std::uint64_t seed() const;
    double point_seconds() const;  // the limit that the text sets for each point; 0: none
    /// The file of losses that the text names, relative to the folder of the sweep file. Empty:
    /// none. This class reads no file: its content is given to set_loss_trace().
    const std::string& loss_trace() const;

    /// Replaces the seed of the text, 1 if it has none.
    void set_seed(std::uint64_t seed);
    /// Each point ends after so many units, as PointPlan::packets. Failure: 0, or more than 1e18.
    Result<void> set_packets(std::uint64_t packets);
    /// Each point ends at this error, unless the text or set_packets() gives a number of units.
    /// Failure: less than 0.0001, or more than 0.5.
    Result<void> set_relative_error(double relative_error);
    /// Failure: the first mistake in the text, as "FILE:LINE:COLUMN: mistake", where FILE is
    /// loss_trace().
    Result<void> set_loss_trace(std::string_view text);

    /// Simulates the point of this index. Returns its results as one JSON object, as in the list
    /// "points" of `wireproof sweep --json`, without the time that it took. Failure: there is no
    /// such point; the losses of loss_trace() are missing; or as run_point.
    Result<std::string> run(std::size_t point, const PointSweepRun& how = {}) const;

    /// Draws ETR, resend ratio and throughput of the points, as `wireproof sweep --svg` does: one
    /// SVG element that needs no other file. `results` has what run() returned for each point, in
    /// their order. Points that were stopped are left out, and so are empty texts. Failure: a text
    /// that run() did not return for its point, or no points to draw.
    Result<std::string> draw(const std::vector<std::string>& results) const;

private:
    struct WIREPROOF_HIDDEN Inside;
    explicit PointSweep(std::unique_ptr<Inside> inside);
    std::unique_ptr<Inside> inside_;
};

/// A drawing of a small exchange, frame by frame.
struct DrawnLadder {
    std::string name;
    std::string text;        // lines of up to 80 columns; ASCII, except in names that are not ASCII
    std::string svg;         // one <svg> element that needs no other file, in light or dark colours
    std::size_t frames = 0;  // how many frames the drawing has
};

/// Draws the first failure in the simulation that run_point makes with the same arguments. If many
/// similar frames follow one another, only the first and the last few are drawn. Failure: as
/// run_point; or the protocol is a model; or the receiver accepted each unit that arrived.
WIREPROOF_EXPORT Result<DrawnLadder> draw_first_failure(const PointSettings& settings,
                                                        const PointPlan& plan = {});

/// Runs the scenario `toml` and draws it as `wireproof ladder FILE` does:
/// docs/guide/links/ladders.md describes scenarios. Failure: the first mistake in the text, as
/// "scenario:LINE:COLUMN: mistake"; or the two ends could not begin their connection.
WIREPROOF_EXPORT Result<DrawnLadder> draw_scenario(std::string_view toml);

/// The protocols of exhaustive_search(): "pcie" and "sp-am", for example.
WIREPROOF_EXPORT std::vector<std::string_view> search_protocols();

/// A search that visits every state which two engines and a faulty wire can reach in a small world.
/// docs/guide/links/search.md describes it.
struct ExhaustiveSearch {
    std::string protocol = "pcie";
    std::uint32_t window = 2;     // frames that may be unacknowledged: 1 to 16
    std::uint32_t modulus = 0;    // sequence numbers: 2 to 65,536; 0: the library chooses
    std::uint32_t messages = 0;   // from A: 1 to 100; 0: 3 for sp-am, 6 for others
    bool both_ways = false;       // B sends as many
    std::uint32_t in_flight = 2;  // frames on the way, each way: 1 to 6
    /// Limit of faults and early timers: 0 to 100. Nothing: the usual limit of the protocol.
    std::optional<std::uint32_t> faults = {};
    bool any_faults = false;  // true: there is no limit; `faults` is nothing
    bool damage = true;       // frames may be damaged
    // Nothing in the next three: as it is usual for the protocol.
    std::optional<bool> duplicates = {};    // frames may arrive twice
    std::optional<bool> reorder = {};       // frames may overtake each other
    std::optional<bool> early_timers = {};  // timers may expire at any moment
    std::string rule = {};  // a rule of the engine, as `wireproof search --rule`; empty: as shipped
    std::string recovery = {};  // of sp-am: "go-back-n" or "selective"; empty: "go-back-n"
    std::uint64_t states_max = 20'000'000;  // 1 to 1e9; 20 million need about 0.9 GB
    /// Called now and then with the number of states so far. If it throws, the search ends, and the
    /// exception leaves the call.
    std::function<void(std::uint64_t)> progress = {};
};

/// What a search found.
struct SearchFindings {
    /// "holds"; "broken": a promise is broken; "stuck": a state cannot finish, even if faults stop;
    /// "in_circles": it can finish, but does not; "too_many_states": the search was not completed.
    std::string verdict;
    std::string violation;         // one line; empty: no counterexample was found
    std::uint64_t states = 0;      // of the world
    std::uint64_t end_states = 0;  // of an end
    std::uint64_t edges = 0;
    std::uint64_t moves_to_finish = 0;  // of the worst state, once faults stop
    std::uint64_t waits_to_finish = 0;  // of these: waits for a timer
    // Only if a counterexample was found:
    std::string path;    // its moves: a JSON array, as "path" of `wireproof search --json`
    std::string ladder;  // the same as lines of up to 80 columns
    /// A scenario in which the same frames meet the same fates; draw_scenario() draws it.
    std::string scenario;
    std::optional<std::size_t> circle;  // the index in the path from which it repeats forever

    bool found() const { return !violation.empty(); }
};

/// Searches. Failure: error() says in one line which setting is not possible.
WIREPROOF_EXPORT Result<SearchFindings> exhaustive_search(const ExhaustiveSearch& search);

/// A random world: nodes, cables with faults, and programs. The seed alone determines it, as in
/// `wireproof soak`.
struct RandomWorld {
    std::string protocol = "sp-am";  // "sp-am"; "rc", "uc", or "ib": queue pairs of both
    std::uint64_t seed = 1;
    std::string congestion = {};  // "off", "loss" or "path"; empty: the world draws it
};

/// What happened in a random world.
struct WorldFindings {
    std::string what;              // the kind of the world, in one line
    std::string violation;         // the first rule that was broken, in one line; empty: none
    bool controlled = false;       // with congestion control
    double seconds = 0;            // simulated time
    std::uint64_t operations = 0;  // of the programs
    std::uint64_t failed = 0;      // of these: for want of an answer
    std::uint64_t frames = 0;      // that were given to cables
    std::uint64_t faults = 0;      // frames that cables lost or damaged; for "ib" also others
    std::uint64_t resent = 0;      // frames that were sent again
};

/// Simulates a world. Failure: there is no such protocol or kind of congestion control.
WIREPROOF_EXPORT Result<WorldFindings> run_world(const RandomWorld& world);

}  // namespace wireproof::lab
