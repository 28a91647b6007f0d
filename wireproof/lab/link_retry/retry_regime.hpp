// Records the states of a world: the state after each stride of accepted units, and what leads from
// one such state to the next: no damage, or the damage of one frame. Where the states without
// damage repeat, they are a lap. A known state with the same damage always has the same future. So
// a simulation can continue from any later state as if it had simulated all states between.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <set>

#include "wireproof/lab/link_retry/retry_world.hpp"

namespace wireproof::lab {

template <RetryEnd End>
class RetryRegime {
public:
    using World = RetryWorld<End>;
    using Place = std::size_t;
    static constexpr Place nowhere = std::numeric_limits<Place>::max();

    /// The counts, latencies and wastes of a way through the regime.
    struct Stretch {
        RetryCounts counts;
        RetryLatencies::Runs latencies;
        RetryBatches::Wastes wastes;
    };
    struct Lap : Stretch {
        std::size_t places = 0;
    };
    /// A way on which one frame is damaged. What left before the frame is counted from the
    /// beginning of the way.
    struct Failure : Stretch {
        typename World::Damage damage;
        Place to = nowhere;

        std::uint64_t bits_before() const { return 8 * damage.bytes_before; }
        std::uint64_t bits_until() const { return bits_before() + 8 * damage.length; }
    };

    explicit RetryRegime(std::size_t places_max) : places_max_(places_max) {}

    /// The place of the world's state. A state becomes a place when it is met again: most states
    /// that follow a failure are not, and places take memory. Nowhere if it is met for the first
    /// time. If there is no room for a place, the regime forgets all others.
    Place find(const World& world) {
        Fingerprint fingerprint;
        world.fingerprint(fingerprint);
        if (const auto at = known_.find(fingerprint.value()); at != known_.end()) return at->second;
        if (met_.size() == met_max) met_.clear();
        if (met_.insert(fingerprint.value()).second) return nowhere;
        if (states_.size() == places_max_) forget();
        known_.emplace(fingerprint.value(), states_.size());
        states_.push_back({world, {}, nowhere, nowhere, {}});
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

    /// `from` led to `failure.to`, and one frame was damaged. A later call for the same frame
    /// counts: it is shorter, because there are more places. Does nothing if there is no room.
    void connect(Place from, Failure failure) {
        if (failures_ == failures_max) return;
        auto& known = states_[from].failures[failure.damage.direction];
        const std::uint64_t key = failure.bits_before();
        if (known.insert_or_assign(key, std::move(failure)).second) ++failures_;
    }
    /// The way from this place if the next wrong bit in this direction comes after `bit` others.
    /// Null if it is not known.
    const Failure* failure(Place from, std::size_t direction, std::uint64_t bit) const {
        const auto& known = states_[from].failures[direction];
        auto after = known.upper_bound(bit);
        if (after == known.begin()) return nullptr;
        const Failure& failure = std::prev(after)->second;
        return bit < failure.bits_until() ? &failure : nullptr;
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
    // A few hundred bytes each.
    static constexpr std::size_t failures_max = std::size_t{1} << 16;
    static constexpr std::size_t met_max = std::size_t{1} << 18;  // 64 bytes each

    struct State {
        World world;
        Stretch between;  // to the next
        Place next;
        Place lap;
        std::array<std::map<std::uint64_t, Failure>, 2> failures;  // by direction and bits_before
    };

    void forget() {
        failures_ = 0;
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
        add_wastes(lap, more);
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

    /// Adds them behind those of the lap, whose counts are not added yet.
    static void add_wastes(Lap& lap, const Stretch& more) {
        std::uint64_t units = lap.counts[RetryCount::accepted];
        for (const auto& [before, wasted] : lap.wastes) units -= before + 1;
        for (const auto& [before, wasted] : more.wastes) {
            lap.wastes.emplace_back(std::exchange(units, 0) + before, wasted);
        }
    }

    std::size_t places_max_;
    std::size_t failures_ = 0;
    std::uint64_t forgotten_ = 0;
    std::map<Fingerprint::Value, Place> known_;
    std::set<Fingerprint::Value> met_;
    std::deque<State> states_;
    std::deque<Lap> laps_;
};

}  // namespace wireproof::lab
