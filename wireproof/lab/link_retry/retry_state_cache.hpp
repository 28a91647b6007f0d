// A cache of the states of a world: the state after each stride of accepted units, and what leads
// from one such state to the next: no damage, or the damage of one frame. Where the states without
// damage repeat, they are a cycle. A known state with the same damage always has the same future.
// So a simulation can continue from any later state as if it had simulated all states between.
#pragma once

#include <deque>
#include <limits>
#include <map>
#include <set>

#include "wireproof/lab/link_retry/retry_world.hpp"

namespace wireproof::lab {

template <RetryEnd End>
class RetryStateCache {
public:
    using World = RetryWorld<End>;
    using StateNumber = std::size_t;
    static constexpr StateNumber unknown = std::numeric_limits<StateNumber>::max();

    /// The counts, latencies and wastes of a way through the states.
    struct Stretch {
        RetryCounts counts;
        RetryLatencies::Runs latencies;
        RetryBatches::Wastes wastes;
    };
    struct Cycle : Stretch {
        std::size_t states = 0;
    };
    /// A way on which one frame is damaged. What left before the frame is counted from the
    /// beginning of the way.
    struct Failure : Stretch {
        typename World::Damage damage;
        StateNumber to = unknown;

        std::uint64_t bits_before() const { return 8 * damage.bytes_before; }
        std::uint64_t bits_until() const { return bits_before() + 8 * damage.length; }
    };

    explicit RetryStateCache(std::size_t states_max) : states_max_(states_max) {}

    /// The number of the world's state. The cache keeps a state when it is met again: most states
    /// that follow a failure are not, and each takes memory. Unknown if it is met for the first
    /// time. If there is no room for a state, the cache forgets all others.
    StateNumber find(const World& world) {
        Fingerprint fingerprint;
        world.fingerprint(fingerprint);
        if (const auto at = known_.find(fingerprint.value()); at != known_.end()) return at->second;
        if (met_.size() == met_max) met_.clear();
        if (met_.insert(fingerprint.value()).second) return unknown;
        if (states_.size() == states_max_) forget();
        known_.emplace(fingerprint.value(), states_.size());
        states_.push_back({world, {}, unknown, unknown, {}});
        return states_.size() - 1;
    }

    /// How often the cache forgot all states. Numbers found before are then no longer valid.
    std::uint64_t forgotten() const { return forgotten_; }

    /// `from` led to `to` without damage. Only the first call for a state counts: later ones would
    /// say the same.
    void connect(StateNumber from, StateNumber to, Stretch between) {
        State& state = states_[from];
        if (state.next != unknown) return;
        state.next = to;
        state.between = std::move(between);
        close_cycle(from);
    }

    /// `from` led to `failure.to`, and one frame was damaged. A later call for the same frame
    /// counts: it is shorter, because there are more states. Does nothing if there is no room.
    void connect(StateNumber from, Failure failure) {
        if (failures_ == failures_max) return;
        auto& known = states_[from].failures[failure.damage.direction];
        const std::uint64_t key = failure.bits_before();
        if (known.insert_or_assign(key, std::move(failure)).second) ++failures_;
    }
    /// The way from this state if the next wrong bit in this direction comes after `bit` others.
    /// Null if it is not known.
    const Failure* failure(StateNumber from, std::size_t direction, std::uint64_t bit) const {
        const auto& known = states_[from].failures[direction];
        auto after = known.upper_bound(bit);
        if (after == known.begin()) return nullptr;
        const Failure& failure = std::prev(after)->second;
        return bit < failure.bits_until() ? &failure : nullptr;
    }

    const World& world(StateNumber state) const { return states_[state].world; }
    StateNumber next(StateNumber state) const { return states_[state].next; }
    const Stretch& between(StateNumber state) const { return states_[state].between; }
    /// The cycle of this state. Null if it is not known that the state repeats.
    const Cycle* cycle(StateNumber state) const {
        const StateNumber cycle = states_[state].cycle;
        return cycle == unknown ? nullptr : &cycles_[cycle];
    }

private:
    // A few hundred bytes each.
    static constexpr std::size_t failures_max = std::size_t{1} << 16;
    static constexpr std::size_t met_max = std::size_t{1} << 18;  // 64 bytes each

    struct State {
        World world;
        Stretch between;  // to the next
        StateNumber next;
        StateNumber cycle;
        std::array<std::map<std::uint64_t, Failure>, 2> failures;  // by direction and bits_before
    };

    void forget() {
        failures_ = 0;
        known_.clear();
        states_.clear();
        cycles_.clear();
        ++forgotten_;
    }

    void close_cycle(StateNumber from) {
        Cycle cycle;
        StateNumber at = from;
        do {
            if (states_[at].next == unknown || states_[at].cycle != unknown) return;
            add(cycle, states_[at].between);
            ++cycle.states;
            at = states_[at].next;
        } while (at != from && cycle.states <= states_.size());
        if (at != from) return;
        cycles_.push_back(cycle);
        do {
            states_[at].cycle = cycles_.size() - 1;
            at = states_[at].next;
        } while (at != from);
    }

    static void add(Cycle& cycle, const Stretch& more) {
        add_wastes(cycle, more);
        cycle.counts += more.counts;
        for (const auto& [value, times] : more.latencies) {
            const auto same =
                std::find_if(cycle.latencies.begin(), cycle.latencies.end(),
                             [value = value](const auto& run) { return run.first == value; });
            if (same == cycle.latencies.end()) {
                cycle.latencies.emplace_back(value, times);
            } else {
                same->second += times;
            }
        }
    }

    /// Adds them behind those of the cycle, whose counts are not added yet.
    static void add_wastes(Cycle& cycle, const Stretch& more) {
        std::uint64_t units = cycle.counts[RetryCount::accepted];
        for (const auto& [before, wasted] : cycle.wastes) units -= before + 1;
        for (const auto& [before, wasted] : more.wastes) {
            cycle.wastes.emplace_back(std::exchange(units, 0) + before, wasted);
        }
    }

    std::size_t states_max_;
    std::size_t failures_ = 0;
    std::uint64_t forgotten_ = 0;
    std::map<Fingerprint::Value, StateNumber> known_;
    std::set<Fingerprint::Value> met_;
    std::deque<State> states_;
    std::deque<Cycle> cycles_;
};

}  // namespace wireproof::lab
