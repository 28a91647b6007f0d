// A wire around another wire. It loses, damages, duplicates and holds back frames that are sent
// through it, by a fault plan for each peer. Only sending is faulty: for faults in both directions,
// wrap both ends. The other end does not know of the faults. So a faulty wire never promises
// carries_intact or carries_all and never returns a frame as intact, whatever the inner wire says
// and even if no faults are planned.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/around_wire.hpp"
#include "wireproof/wire/faulty/faulty_lane.hpp"

namespace wireproof {

template <Wire W>
class FaultyWire : public AroundWire<FaultyWire<W>, W> {
public:
    struct Config {
        FaultRates rates = {};
        LossBursts bursts = {};
        std::vector<FaultRule> script = {};  // the frames of each peer are counted separately
        std::uint64_t seed = 0;
        Describe describe = describe_nothing;            // what the script's rules see of a frame
        Duration hold_time = Duration::milliseconds(1);  // if no other frame overtakes it
        std::size_t kept_max = 32;                       // frames held or copied, per peer
    };

    FaultyWire(W inner, Config config)
        : config_(std::move(config)),
          inside_(std::make_unique<Inside>(Inside{std::move(inner), Instant()})) {}

    /// The first call for a peer allocates the memory of its lane.
    FaultyLane<W>& lane(PeerId peer) {
        const auto number = static_cast<std::size_t>(peer);
        if (number >= lanes_.size()) lanes_.resize(number + 1);
        if (lanes_[number] == nullptr) lanes_[number] = make_lane(peer);
        return *lanes_[number];
    }

    std::optional<RxFrame> receive(Instant now) {
        inside_->now = now;
        auto frame = inside_->wire.receive(now);
        if (frame && frame->integrity == Integrity::intact) frame->integrity = Integrity::check;
        return frame;
    }
    RxRun following() const requires RunWire<W> { return inside_->wire.following(); }
    void take_following(std::size_t frames) requires RunWire<W> {
        inside_->wire.take_following(frames);
    }

    void flush(Instant now) {
        inside_->now = now;
        for_each_lane([](FaultyLane<W>& lane) { lane.release(); });
        // The loop ends, because each further turn sends some of a bounded number of copies.
        for (bool again = true; again;) {
            inside_->wire.flush(now);
            again = false;
            for_each_lane([&again](FaultyLane<W>& lane) { again |= lane.after_flush(); });
        }
    }

    std::optional<std::pair<PeerId, WireEvent>> next_event() { return inside_->wire.next_event(); }

    /// Includes the deadline of the frame that is held back longest.
    Instant next_deadline() const {
        Instant earliest = inside_->wire.next_deadline();
        for (const auto& lane : lanes_) {
            if (lane != nullptr) earliest = std::min(earliest, lane->next_deadline());
        }
        return earliest;
    }

    /// The plan of one peer, to add rules for this peer or to change the plan during a run.
    FaultPlan& plan(PeerId peer) { return lane(peer).plan(); }
    const FaultCounts& counts(PeerId peer) { return lane(peer).plan().counts(); }
    const SentCounts& sent(PeerId peer) { return lane(peer).sent(); }
    FaultCounts total_counts() const;
    SentCounts total_sent() const;

    W& inner() { return inside_->wire; }
    const W& inner() const { return inside_->wire; }

private:
    // Lanes point to both members.
    struct Inside {
        W wire;
        Instant now;
    };

    std::unique_ptr<FaultyLane<W>> make_lane(PeerId peer) {
        const auto number = static_cast<std::uint64_t>(peer);
        FaultPlan plan(config_.rates, mix64(config_.seed + mix64(number)));
        plan.set_bursts(config_.bursts);
        for (const FaultRule& rule : config_.script) plan.add_rule(rule);
        return std::make_unique<FaultyLane<W>>(
            typename FaultyLane<W>::Config{.inner = &inside_->wire,
                                           .now = &inside_->now,
                                           .peer = peer,
                                           .plan = std::move(plan),
                                           .describe = config_.describe,
                                           .hold_time = config_.hold_time,
                                           .kept_max = config_.kept_max});
    }

    template <class Visit>
    void for_each_lane(Visit&& visit) {
        for (const auto& lane : lanes_) {
            if (lane != nullptr) visit(*lane);
        }
    }

    Config config_;
    std::unique_ptr<Inside> inside_;
    std::vector<std::unique_ptr<FaultyLane<W>>> lanes_;
};

template <Wire W>
FaultCounts FaultyWire<W>::total_counts() const {
    FaultCounts total;
    for (const auto& lane : lanes_) {
        if (lane == nullptr) continue;
        const FaultCounts& counts = lane->plan().counts();
        total.frames += counts.frames;
        total.lost += counts.lost;
        total.damaged += counts.damaged;
        total.duplicated += counts.duplicated;
        total.held += counts.held;
    }
    return total;
}

template <Wire W>
SentCounts FaultyWire<W>::total_sent() const {
    SentCounts total;
    for (const auto& lane : lanes_) {
        if (lane == nullptr) continue;
        total.frames += lane->sent().frames;
        total.bytes += lane->sent().bytes;
        total.resent += lane->sent().resent;
    }
    return total;
}

}  // namespace wireproof
