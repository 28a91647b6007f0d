// Runs a ladder: two ends, their users and the cables between them. The same code runs both kinds
// of engines (links and SP AM). Only the users know the difference. Only the source file of an
// engine includes this, because it takes long to compile.
#pragma once

#include <algorithm>
#include <array>
#include <deque>

#include "wireproof/base/check.hpp"
#include "wireproof/core/trace.hpp"
#include "wireproof/lab/ladder/ladder.hpp"
#include "wireproof/lab/ladder/ladder_user.hpp"
#include "wireproof/sim/network.hpp"
#include "wireproof/sim/run.hpp"

namespace wireproof::lab {

inline constexpr std::uint64_t ladder_turns_max = 10'000'000;
inline constexpr Instant ladder_comes_up_until{Duration::milliseconds(10'000)};

/// Finds the sent frame that arrives. A cable delivers in order, except for frames that it holds
/// back; these are recognised by their bytes. If frames with equal bytes overtake each other,
/// nothing can tell which is which.
class FramesInFlight {
public:
    void send(std::size_t frame, const Fate& fate) {
        if (fate.lost) return;
        flying_.push_back({frame, fate.held_behind > 0});
        if (fate.duplicated) flying_.push_back(flying_.back());
    }

    std::size_t take(ConstBytes bytes, bool damaged, const std::vector<LadderFrame>& frames) {
        const auto is_it = [&](const Flying& one) {
            return damaged == frames[one.frame].fate.damaged &&
                   std::equal(bytes.begin(), bytes.end(), frames[one.frame].bytes.begin(),
                              frames[one.frame].bytes.end());
        };
        const auto first_of = [&](bool held) {
            return std::find_if(flying_.begin(), flying_.end(),
                                [&](const Flying& one) { return one.held == held; });
        };
        auto found = first_of(false);
        if (found == flying_.end() || !is_it(*found)) {
            found = std::find_if(flying_.begin(), flying_.end(), is_it);
        }
        WIREPROOF_CHECK(found != flying_.end());
        const std::size_t frame = found->frame;
        flying_.erase(found);
        return frame;
    }

    bool empty() const { return flying_.empty(); }

private:
    struct Flying {
        std::size_t frame;
        bool held;
    };

    std::deque<Flying> flying_;
};

inline sim::NetworkConfig ladder_network(const Scenario& scenario, Describe describe,
                                         std::size_t frame_max) {
    sim::NetworkConfig config;
    config.frame_max = frame_max;
    config.bytes_per_second = scenario.link.bytes_per_second;
    config.latency = scenario.link.latency;
    config.one_at_a_time = true;
    config.seed = scenario.seed;
    config.describe = describe;
    return config;
}

/// `User` is a LinkLadderUser or AmLadderUser.
template <class User>
class LadderRun {
public:
    explicit LadderRun(const Scenario& scenario)
        : scenario_(scenario),
          user_(scenario),
          network_(ladder_network(scenario, user_.describe(), user_.frame_max())),
          buffer_(user_.frame_max()) {
        network_.record(&trace_);
        ladder_.name = scenario.name;
        ladder_.title = scenario.title;
        ladder_.protocol = name_of(scenario.protocol());
        ladder_.counts.emplace();
    }

    Expected<Ladder> run() {
        if (scenario_.show_start) {
            begin(Instant());
        } else {
            if (!come_up())
                return unexpected(
                    scenario_.name +
                    ": the ends do not come up: a timer is shorter than the way there "
                    "and back");
        }
        const Instant until = start_ + scenario_.stop.until;
        const auto done = [this] {
            return finished() || ladder_.frames.size() >= scenario_.stop.frames;
        };
        const auto result = turn_until(done, until);
        ladder_.end = result.end == sim::RunEnd::idle || finished() ? LadderEnd::idle
                      : result.end == sim::RunEnd::time_limit       ? LadderEnd::time_limit
                                                                    : LadderEnd::frame_limit;
        ladder_.ended = result.now - start_;
        for (const Side side : {Side::a, Side::b}) {
            LadderCounts& counts = counts_of(side);
            counts.asked = user_.asked(side);
            counts.delivered = user_.delivered(side);
        }
        ladder_.wrong = user_.wrong();
        return std::move(ladder_);
    }

private:
    LadderCounts& counts_of(Side side) { return (*ladder_.counts)[index(side)]; }

    // PCI Express renews its credits forever. Its run ends when the user is finished and no frame
    // is in flight.
    bool finished() const {
        return user_.finished() && in_flight_[0].empty() && in_flight_[1].empty();
    }

    // The start-up ends when both ends are up and their last frames have been answered.
    bool come_up() {
        user_.want_up(true);
        turn_until([this] { return user_.up(); }, ladder_comes_up_until);
        user_.want_up(false);
        if (!user_.up()) return false;
        constexpr int answers = 4;
        const Duration quiet = (scenario_.link.latency + scenario_.link.time_of(user_.frame_max()) +
                                Duration::nanoseconds(1)) *
                               answers;
        const Instant still = schedule_.now() + quiet;
        turn_until([] { return false; }, still);
        // Start at a whole nanosecond: then times are whole nanoseconds if those of the link are.
        begin(Instant(Duration::nanoseconds(still.since_start().nanoseconds() + 1)));
        return true;
    }

    void begin(Instant start) {
        start_ = start;
        began_ = true;
        for (const Side side : {Side::a, Side::b}) {
            FaultPlan plan(scenario_.noise[index(side)].rates, mix64(scenario_.seed + index(side)));
            if (scenario_.noise[index(side)].bursts.begin > 0) {
                plan.set_bursts(scenario_.noise[index(side)].bursts);
            }
            if (!User::may_lose) plan.damage_what_would_be_lost();
            for (const ScenarioFault& fault : scenario_.faults) {
                if (fault.from == side) plan.add_rule(fault.rule);
            }
            sim::Cable& cable = network_.cable(index(side), index(other(side)));
            cable.faults() = std::move(plan);
            early_[index(side)] = cable.in_flight();
            schedule_.wake(index(side), start_ + user_.first_wish(side));
        }
    }

    template <class Done>
    sim::RunResult turn_until(Done&& done, Instant until) {
        const auto step = [this](std::size_t node, Instant now) {
            return turn(static_cast<Side>(node), now);
        };
        return sim::run(network_, schedule_, step, done,
                        {.until = until, .turns = ladder_turns_max});
    }

    Instant turn(Side side, Instant now) {
        typename User::Engine& engine = user_.engine(side);
        sim::NodeWire& wire = network_.wire(index(side));
        const sim::Cable& cable = network_.cable(index(other(side)), index(side));
        while (cable.next_arrival() <= now) receive(side, now, *wire.receive(now));
        if (engine.next_deadline() <= now) expire(side, now);
        Instant wish = never;
        if (began_) {
            const Duration next = user_.ask(side, now - start_);
            if (next != User::nothing_more) wish = start_ + next;
            draw(side, now, nullptr);
        }
        transmit(side, now);
        return std::min(wish, engine.next_deadline());
    }

    void receive(Side side, Instant now, const RxFrame& frame) {
        const RxVerdict verdict = user_.engine(side).on_frame(now, frame);
        FramesInFlight& flight = in_flight_[index(other(side))];
        LadderArrival* arrival = nullptr;
        std::size_t& early = early_[index(other(side))];
        if (began_ && early > 0) {
            --early;
        } else if (began_) {
            const bool damaged = frame.integrity == Integrity::damaged;
            const std::size_t which = flight.take(frame.bytes, damaged, ladder_.frames);
            auto& arrivals = ladder_.frames[which].arrivals;
            arrivals.push_back({.time = now - start_, .verdict = verdict});
            arrival = &arrivals.back();
        }
        draw(side, now, arrival);
    }

    void expire(Side side, Instant now) {
        const std::uint64_t before = user_.timeouts(side);
        user_.engine(side).on_deadline(now);
        if (began_ && user_.timeouts(side) > before) {
            ++counts_of(side).timeouts;
            note(side, now, "timer");
        }
        draw(side, now, nullptr);
    }

    // A delivery belongs to the frame that brought it. Without such a frame it becomes a note.
    void draw(Side side, Instant now, LadderArrival* arrival) {
        while (const auto delivery = user_.engine(side).next_delivery()) {
            std::string text = user_.hear(side, *delivery);
            if (!began_ || text.empty()) continue;
            if (arrival != nullptr) {
                arrival->delivered.push_back(std::move(text));
            } else {
                note(side, now, std::move(text));
            }
        }
    }

    void note(Side side, Instant now, std::string text) {
        ladder_.notes.push_back({now - start_, side, std::move(text), ladder_.frames.size()});
    }

    // Claims room only to learn whether the cable is free. The engine writes into other memory, as
    // for a cable without any guarantee, so that it computes its checks and a capture shows them.
    void transmit(Side side, Instant now) {
        const auto peer = static_cast<std::uint16_t>(index(other(side)));
        sim::Cable& lane = network_.wire(index(side)).lane(PeerId{peer});
        lane.look(now);
        while (lane.claim() != nullptr) {
            TxFrame out;
            out.open(buffer_, {.frame_max = buffer_.size()});
            if (!user_.engine(side).poll_transmit(now, out)) return;
            std::vector<std::byte> bytes(out.size());
            out.gather(bytes);
            lane.send(now, bytes, {.resent = out.resent()});
            if (began_) record(side, now, std::move(bytes));
        }
    }

    void record(Side side, Instant now, std::vector<std::byte> bytes) {
        const TraceEvent& event = trace_.events()[trace_.events().size() - 1];
        in_flight_[index(side)].send(ladder_.frames.size(), event.fate);
        ladder_.frames.push_back({.time = now - start_,
                                  .from = side,
                                  .info = event.frame,
                                  .resent = event.resent,
                                  .fate = event.fate,
                                  .bytes = std::move(bytes)});
        ++counts_of(side).frames;
        if (event.resent) ++counts_of(side).resent;
    }

    const Scenario& scenario_;
    User user_;
    Trace trace_{1};
    sim::Network network_;
    sim::Schedule schedule_{2};
    std::vector<std::byte> buffer_;
    std::array<FramesInFlight, 2> in_flight_;  // by the side that sent them
    std::array<std::size_t, 2> early_{};       // in flight when the ladder began; not on it
    bool began_ = false;
    Instant start_;
    Ladder ladder_;
};

}  // namespace wireproof::lab
