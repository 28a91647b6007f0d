// Records the states of a world while it has no errors: the state after each stride of accepted
// units, the counts between two such states, and the lap in which the states repeat. Until the next
// damage, a known state always has the same future. So a simulation can continue from any later
// state as if it had simulated all states between.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <optional>

#include "wireproof/lab/link_retry/retry_world.hpp"

namespace wireproof::lab {

template <RetryEnd End>
class RetryRegime {
public:
    using World = RetryWorld<End>;
    using Place = std::size_t;
    static constexpr Place nowhere = std::numeric_limits<Place>::max();

    /// The counts and latencies of a way through the regime.
    struct Stretch {
        RetryCounts counts;
        RetryLatencies::Runs latencies;
    };
    struct Lap : Stretch {
        std::size_t places = 0;
    };

    explicit RetryRegime(std::size_t places_max) : places_max_(places_max) {}

    /// The place of the world's state. If the state is new and there is no room for it, the regime
    /// forgets all others.
    Place find(const World& world) {
        Fingerprint fingerprint;
        world.fingerprint(fingerprint);
        if (const auto at = known_.find(fingerprint.value()); at != known_.end()) return at->second;
        if (states_.size() == places_max_) forget();
        known_.emplace(fingerprint.value(), states_.size());
        states_.push_back({world, {}, nowhere, nowhere});
        return states_.size() - 1;
    }

    /// How often the regime forgot all states. Places found before are then no longer valid.
    std::uint64_t forgotten() const { return forgotten_; }

    /// `from` led to `to` without damage. Only the first call for a place counts: later ones would
    /// say the same.
    void connect(Place from, Place to, Stretch between) {
        State& state = states_[from];
        if (state.next != nowhere) return;
        state.next = to;
        state.between = std::move(between);
        close_lap(from);
    }

    const World& world(Place place) const { return states_[place].world; }
    Place next(Place place) const { return states_[place].next; }
    const Stretch& between(Place place) const { return states_[place].between; }
    /// The lap of this place. Null if it is not known that the place repeats.
    const Lap* lap(Place place) const {
        const Place lap = states_[place].lap;
        return lap == nowhere ? nullptr : &laps_[lap];
    }

private:
    struct State {
        World world;
        Stretch between;  // to the next
        Place next;
        Place lap;
    };

    void forget() {
        known_.clear();
        states_.clear();
        laps_.clear();
        ++forgotten_;
    }

    void close_lap(Place from) {
        Lap lap;
        Place at = from;
        do {
            if (states_[at].next == nowhere || states_[at].lap != nowhere) return;
            add(lap, states_[at].between);
            ++lap.places;
            at = states_[at].next;
        } while (at != from && lap.places <= states_.size());
        if (at != from) return;
        laps_.push_back(lap);
        do {
            states_[at].lap = laps_.size() - 1;
            at = states_[at].next;
        } while (at != from);
    }

    static void add(Lap& lap, const Stretch& more) {
        lap.counts += more.counts;
        for (const auto& [value, times] : more.latencies) {
            const auto same =
                std::find_if(lap.latencies.begin(), lap.latencies.end(),
                             [value = value](const auto& run) { return run.first == value; });
            if (same == lap.latencies.end()) {
                lap.latencies.emplace_back(value, times);
            } else {
                same->second += times;
            }
        }
    }

    std::size_t places_max_;
    std::uint64_t forgotten_ = 0;
    std::map<Fingerprint::Value, Place> known_;
    std::deque<State> states_;
    std::deque<Lap> laps_;
};

}  // namespace wireproof::lab
