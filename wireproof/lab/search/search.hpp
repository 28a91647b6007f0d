// Exhaustive search: visits every state of a world, breadth first. Only its packed bytes identify
// a state. The search answers three questions. Is a promise broken in any state? (The path to it is
// the shortest one.) Can every state still finish after faults stop? Does it finish if each state
// then takes its first move, so that timers expire only when nothing else can happen?
//
// For each state, the search keeps its bytes, the state from which it was first met, and the state
// to which its first move leads. If each state finishes by first moves, each state can finish, so
// the other moves without a fault are needed only if one does not. They are then made again.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/lab/search/state_table.hpp"

namespace wireproof::lab {

/// A move from a state to the next one.
struct SearchMove {
    enum class What : std::uint8_t {
        arrive,  // a frame reaches the other end
        offer,   // a user submits the next message
        leave,   // an end puts its next frame on the wire
        due,     // a timer expires whose time has come
        wait,    // time passes until a timer expires
        lose,
        damage,
        repeat,       // a frame arrives, and will arrive again
        damage_tail,  // a frame is damaged behind a part that the receiver can use alone
    };
    static constexpr std::uint8_t both = 2;

    What what = What::wait;
    std::uint8_t end = 0;    // the end that acts, or that sent the frame; for a wait also `both`
    std::uint8_t place = 0;  // of the frame, among those in flight this way, oldest first
    bool fault = false;      // a fault of the wire, or a timer that expires early

    /// The move affects a frame that is in flight.
    bool moves_frame() const {
        return what == What::arrive || what == What::lose || what == What::damage ||
               what == What::repeat || what == What::damage_tail;
    }
    friend bool operator==(SearchMove, SearchMove) = default;
};

/// If it is not interrupted, a search visits every state. Each state needs about 45 bytes.
struct SearchLimits {
    std::size_t states = 20'000'000;
    /// Called now and then with the number of states met so far. If it returns false, the search
    /// ends.
    std::function<bool(std::size_t)> go_on = {};
};

enum class SearchVerdict : std::uint8_t {
    holds,
    broken,           // a promise is broken: the path ends with the move that breaks it
    stuck,            // the path ends in a state that cannot finish, even if faults stop
    in_circles,       // it can finish, but does not if each state takes its first move
    too_many_states,  // the search was not completed
    interrupted,      // the search was not completed
};

struct SearchResult {
    SearchVerdict verdict = SearchVerdict::holds;
    std::string violation;  // one line; empty if the search found none
    std::vector<SearchMove> path;
    /// Index in the path from which it repeats forever. The length of the path if it does not
    /// repeat.
    std::size_t circle = 0;
    std::size_t states = 0;
    std::size_t edges = 0;
    std::size_t finished = 0;  // states in which everything is done
    std::size_t stuck = 0;     // states that cannot finish
    /// The moves that the worst state needs if faults stop and each state takes its first move.
    std::uint32_t moves_to_finish = 0;
    std::uint32_t waits_to_finish = 0;  // of these moves: waits for a timer

    bool found() const { return !violation.empty(); }
};

// A copy is another world with the same past. moves() lists the possible moves: first those without
// a fault, with waits for a timer last. If no fault happens and no timer is early, the first move
// is what happens. unpack() restores a state in any world of the same search; all states have the
// same number of bytes. A world may have a function key_of(packed bytes) and say with has_keys()
// that states with the same key act alike. Then only the first state with each key is expanded.
template <class W>
concept SearchWorld = std::copyable<W> &&
    requires(W world, const W& still, std::vector<SearchMove>& moves, ConstBytes bytes) {
    { still.moves(moves) } -> std::same_as<void>;
    { world.take(SearchMove{}) } -> std::same_as<void>;
    { still.finished() } -> std::same_as<bool>;
    // The first promise that was broken; empty if none was.
    { still.violation() } -> std::convertible_to<std::string>;
    { still.packed() } -> std::same_as<PackedState>;
    { world.unpack(bytes) } -> std::same_as<void>;
};

/// Numbers fingerprints in the order in which they were first seen.
class FingerprintTable {
public:
    using Id = std::uint32_t;

    struct Place {
        Id id = 0;
        bool is_new = false;
    };

    Place find_or_add(Fingerprint::Value value) {
        if (2 * (values_.size() + 1) > slots_.size()) grow();
        std::size_t slot = value.low & (slots_.size() - 1);
        for (; slots_[slot] != empty; slot = (slot + 1) & (slots_.size() - 1)) {
            if (values_[slots_[slot]] == value) return {slots_[slot], false};
        }
        slots_[slot] = static_cast<Id>(values_.size());
        values_.push_back(value);
        return {slots_[slot], true};
    }
    std::size_t size() const { return values_.size(); }
    Fingerprint::Value value(Id id) const { return values_[id]; }

private:
    static constexpr Id empty = 0xFFFFFFFF;

    void grow() {
        slots_.assign(slots_.empty() ? 1024 : slots_.size() * 2, empty);
        for (Id id = 0; id < values_.size(); ++id) {
            std::size_t slot = values_[id].low & (slots_.size() - 1);
            while (slots_[slot] != empty) slot = (slot + 1) & (slots_.size() - 1);
            slots_[slot] = id;
        }
    }

    std::vector<Fingerprint::Value> values_;
    std::vector<Id> slots_;
};

template <SearchWorld W>
class Search {
public:
    explicit Search(SearchLimits limits = {}) : limits_(std::move(limits)) {}

    /// May be called only once.
    SearchResult run(const W& first) {
        known_ = table_for(first);
        note(first, known_.find_or_add(first.packed()), 0);
        while (expanded_ < known_.size() && result_.verdict == SearchVerdict::holds) {
            expand_some(first);
        }
        result_.states = known_.size();
        if (result_.verdict == SearchVerdict::holds) check_liveness(first);
        if (result_.found()) lead_to(first);
        result_.circle = result_.path.size();
        if (result_.verdict >= SearchVerdict::stuck && result_.found()) go_on_for_ever(first);
        return std::move(result_);
    }

private:
    using Id = StateTable::Id;
    static constexpr Id none = StateTable::none;

    /// A move from a state, and where it leads.
    struct Step {
        SearchMove move;
        W world;
        PackedState packed;
        std::uint64_t hash = 0;
    };

    /// The moves that a state still needs until everything is done.
    struct Rest {
        std::uint32_t moves = unknown;
        std::uint32_t waits = 0;
    };
    static constexpr std::uint32_t unknown = 0xFFFFFFFF;
    static constexpr std::uint32_t walking = unknown - 1;

    static StateTable table_for(const W& first) {
        if constexpr (requires { first.key_of(ConstBytes()); }) {
            if (first.has_keys()) {
                return StateTable([first](ConstBytes bytes) { return first.key_of(bytes); });
            }
        }
        return StateTable();
    }

    Id note(const W& world, StateTable::Place place, Id parent) {
        if (!place.is_new) return place.id;
        parents_.push_back(parent);
        finished_.push_back(world.finished());
        if (finished_.back()) ++result_.finished;
        const std::string violation = world.violation();
        if (!violation.empty()) end(SearchVerdict::broken, violation, place.id);
        return place.id;
    }

    // Most of the time of a search is the wait for memory. So the steps of several states are made
    // first, and what is needed of the table is loaded for all of them.
    void expand_some(W world) {
        constexpr Id some = 16;
        const Id from = expanded_;
        const auto to = static_cast<Id>(std::min<std::size_t>(known_.size(), from + some));
        steps_.clear();
        std::array<std::size_t, some> ends{};
        for (Id id = from; id < to; ++id) {
            world.unpack(known_.at(id));
            add_steps(world);
            ends[id - from] = steps_.size();
        }
        for (const Step& step : steps_) known_.prefetch_state(step.hash);
        std::size_t begin = 0;
        for (Id id = from; id < to && result_.verdict == SearchVerdict::holds; ++id) {
            expand(id, std::span(steps_).subspan(begin, ends[id - from] - begin));
            begin = ends[id - from];
        }
        expanded_ = to;
    }

    void expand(Id id, std::span<const Step> steps) {
        if (id % 4096 == 0 && limits_.go_on && !limits_.go_on(known_.size())) {
            return end(SearchVerdict::interrupted, {}, id);
        }
        if (known_.size() > limits_.states) return end(SearchVerdict::too_many_states, {}, id);
        waits_.push_back(!steps.empty() && steps[0].move.what == SearchMove::What::wait);
        firsts_.push_back(none);
        for (const Step& step : steps) {
            const Id to = note(step.world, known_.find_or_add(step.packed, step.hash), id);
            ++result_.edges;
            if (&step == steps.data() && !step.move.fault) firsts_.back() = to;
            if (result_.verdict != SearchVerdict::holds) return;
        }
    }

    void add_steps(const W& world) {
        moves_.clear();
        world.moves(moves_);
        for (const SearchMove move : moves_) {
            Step& step = steps_.emplace_back(Step{move, world, {}});
            step.world.take(move);
            step.packed = step.world.packed();
            step.hash = known_.hash_of(step.packed);
            known_.prefetch(step.hash);
        }
    }

    void end(SearchVerdict verdict, std::string violation, Id at) {
        result_.verdict = verdict;
        result_.violation = std::move(violation);
        ended_at_ = at;
    }

    /// The path to the state where the search ended: from each state, the first move that leads to
    /// the next one.
    void lead_to(W world) {
        std::vector<Id> states;
        for (Id at = ended_at_; at != 0; at = parents_[at]) states.push_back(at);
        for (; !states.empty(); states.pop_back()) {
            steps_.clear();
            add_steps(world);
            const auto step = std::find_if(steps_.begin(), steps_.end(), [&](const Step& one) {
                return known_.find_or_add(one.packed, one.hash).id == states.back();
            });
            WIREPROOF_CHECK(step != steps_.end());
            result_.path.push_back(step->move);
            world = step->world;
        }
    }

    void check_liveness(const W& first) {
        known_.rest();
        const Id circle = walk_home();
        if (circle == none) return;
        const Ways ways = all_ways(first);
        const std::vector<bool> finishes = can_finish(ways);
        for (Id id = 0; id < finishes.size(); ++id) {
            if (finishes[id]) continue;
            if (result_.stuck++ > 0) continue;
            end(SearchVerdict::stuck,
                ways.begin[id] == ways.begin[id + 1]
                    ? "nothing more will happen, and not all is done"
                    : "whatever happens from here on, this never finishes",
                id);
        }
        if (result_.stuck > 0) return;
        end(SearchVerdict::in_circles, "from here on a run without faults goes in circles", circle);
    }

    /// The states to which each state leads without a fault.
    struct Ways {
        std::vector<Id> to;
        std::vector<std::size_t> begin;  // by state, and the end of the last one
    };

    Ways all_ways(W world) {
        Ways ways;
        const auto states = static_cast<Id>(known_.size());
        for (Id id = 0; id < states; ++id) {
            ways.begin.push_back(ways.to.size());
            world.unpack(known_.at(id));
            steps_.clear();
            add_steps(world);
            for (const Step& step : steps_) {
                if (step.move.fault) break;  // all that follow are faults, too
                ways.to.push_back(known_.find_or_add(step.packed, step.hash).id);
            }
        }
        ways.begin.push_back(ways.to.size());
        return ways;
    }

    /// Goes backwards from the states in which everything is done, along moves without faults.
    std::vector<bool> can_finish(const Ways& ways) const {
        const auto states = static_cast<Id>(known_.size());
        std::vector<std::size_t> sources_of(states + 1, 0);
        for (const Id to : ways.to) ++sources_of[to + 1];
        for (Id id = 0; id < states; ++id) sources_of[id + 1] += sources_of[id];
        std::vector<Id> sources(ways.to.size());
        std::vector<std::size_t> filled(sources_of.begin(), sources_of.end() - 1);
        for (Id from = 0; from < states; ++from) {
            for (auto i = ways.begin[from]; i < ways.begin[from + 1]; ++i) {
                sources[filled[ways.to[i]]++] = from;
            }
        }
        std::vector<bool> finishes = finished_;
        std::vector<Id> open;
        for (Id id = 0; id < states; ++id) {
            if (finishes[id]) open.push_back(id);
        }
        while (!open.empty()) {
            const Id to = open.back();
            open.pop_back();
            for (auto i = sources_of[to]; i < sources_of[to + 1]; ++i) {
                if (finishes[sources[i]]) continue;
                finishes[sources[i]] = true;
                open.push_back(sources[i]);
            }
        }
        return finishes;
    }

    /// Takes the first move of every state. Returns a state that does not finish in this way,
    /// because it comes back to itself or because only a fault leads on; none: all finish.
    Id walk_home() {
        std::vector<Rest> rests(known_.size());
        std::vector<Id> path;
        for (Id id = 0; id < rests.size(); ++id) {
            path.clear();
            Id at = id;
            for (; rests[at].moves == unknown && !finished_[at]; at = firsts_[at]) {
                if (firsts_[at] == none) return at;
                rests[at].moves = walking;
                path.push_back(at);
            }
            if (rests[at].moves == walking) return at;
            Rest rest = rests[at];
            if (finished_[at]) rest.moves = 0;
            while (!path.empty()) {
                ++rest.moves;
                if (waits_[path.back()]) ++rest.waits;
                rests[path.back()] = rest;
                path.pop_back();
                result_.moves_to_finish = std::max(result_.moves_to_finish, rest.moves);
                result_.waits_to_finish = std::max(result_.waits_to_finish, rest.waits);
            }
        }
        return none;
    }

    // Continues a path with the first moves of its states, until a state repeats.
    void go_on_for_ever(W world) {
        for (const SearchMove move : result_.path) world.take(move);
        StateTable met = table_for(world);
        while (true) {
            const auto place = met.find_or_add(world.packed());
            moves_.clear();
            world.moves(moves_);
            if (!place.is_new) {
                result_.circle += place.id;
                return;
            }
            if (moves_.empty() || moves_.front().fault) {
                result_.circle = result_.path.size();
                return;
            }
            result_.path.push_back(moves_.front());
            world.take(moves_.front());
        }
    }

    SearchLimits limits_;
    SearchResult result_;
    StateTable known_;
    Id expanded_ = 0;  // states
    Id ended_at_ = 0;
    std::vector<SearchMove> moves_;
    std::vector<Step> steps_;
    std::deque<Id> parents_;  // by state; deques, because they grow without a copy
    std::deque<Id> firsts_;   // by state: where its first move leads, if that is no fault
    std::vector<bool> finished_;
    std::vector<bool> waits_;  // by state: its first move is a wait
};

}  // namespace wireproof::lab
