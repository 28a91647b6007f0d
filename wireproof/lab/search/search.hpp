// Exhaustive search: visits every state of a world, breadth first. Only its fingerprint identifies
// a state. The search answers three questions. Is a promise broken in any state? (The path to it is
// the shortest one.) Can every state still finish after faults stop? Does it finish if each state
// then takes its first move, so that timers expire only when nothing else can happen?
//
// For each state, the search keeps 16 bytes of fingerprint, the move by which it was first met, and
// the states to which it leads without a fault. It keeps the world itself only until it has
// expanded it.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/core/fingerprint.hpp"

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
        repeat,  // a frame arrives, and will arrive again
    };
    static constexpr std::uint8_t both = 2;

    What what = What::wait;
    std::uint8_t end = 0;    // the end that acts, or that sent the frame; for a wait also `both`
    std::uint8_t place = 0;  // of the frame, among those in flight this way, oldest first
    bool fault = false;      // a fault of the wire, or a timer that expires early

    /// The move affects a frame that is in flight.
    bool moves_frame() const {
        return what == What::arrive || what == What::lose || what == What::damage ||
               what == What::repeat;
    }
    friend bool operator==(SearchMove, SearchMove) = default;
};

/// If it is not interrupted, a search visits every state. Each state needs about 70 bytes.
struct SearchLimits {
    std::size_t states = 5'000'000;
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
// is what happens.
template <class W>
concept SearchWorld = std::copyable<W> &&
    requires(W world, const W& still, std::vector<SearchMove>& moves, Fingerprint& sink) {
    { still.moves(moves) } -> std::same_as<void>;
    { world.take(SearchMove{}) } -> std::same_as<void>;
    { still.finished() } -> std::same_as<bool>;
    // The first promise that was broken; empty if none was.
    { still.violation() } -> std::convertible_to<std::string>;
    { still.fingerprint(sink) } -> std::same_as<void>;
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
        note(first, 0, {});
        while (!open_.empty() && result_.verdict == SearchVerdict::holds) {
            const W world = std::move(open_.front());
            open_.pop_front();
            expand(world);
        }
        result_.states = known_.size();
        if (result_.verdict == SearchVerdict::holds) check_liveness();
        result_.circle = result_.path.size();
        if (result_.verdict >= SearchVerdict::stuck && result_.found()) go_on_for_ever(first);
        return std::move(result_);
    }

private:
    using Id = FingerprintTable::Id;

    struct Origin {
        Id parent = 0;
        SearchMove move;
    };

    /// The moves that a state still needs until everything is done.
    struct Rest {
        std::uint32_t moves = unknown;
        std::uint32_t waits = 0;
    };
    static constexpr std::uint32_t unknown = 0xFFFFFFFF;
    static constexpr std::uint32_t walking = unknown - 1;

    Id note(const W& world, Id parent, SearchMove move) {
        Fingerprint sink;
        world.fingerprint(sink);
        const auto place = known_.find_or_add(sink.value());
        if (!place.is_new) return place.id;
        origins_.push_back({parent, move});
        finished_.push_back(world.finished());
        const std::string violation = world.violation();
        if (!violation.empty()) end(SearchVerdict::broken, violation, place.id);
        open_.push_back(world);
        return place.id;
    }

    void expand(const W& world) {
        const Id id = expanded_++;
        if (id % 4096 == 0 && limits_.go_on && !limits_.go_on(known_.size())) {
            return end(SearchVerdict::interrupted, {}, id);
        }
        if (known_.size() > limits_.states) return end(SearchVerdict::too_many_states, {}, id);
        ways_of_.push_back(static_cast<std::uint32_t>(ways_.size()));
        moves_.clear();
        world.moves(moves_);
        waits_.push_back(!moves_.empty() && moves_.front().what == SearchMove::What::wait);
        for (const SearchMove move : moves_) {
            W next = world;
            next.take(move);
            const Id to = note(next, id, move);
            ++result_.edges;
            if (!move.fault) ways_.push_back(to);
            if (result_.verdict != SearchVerdict::holds) return;
        }
    }

    void end(SearchVerdict verdict, std::string violation, Id at) {
        result_.verdict = verdict;
        result_.violation = std::move(violation);
        if (!result_.found()) return;
        for (; at != 0; at = origins_[at].parent) result_.path.push_back(origins_[at].move);
        std::reverse(result_.path.begin(), result_.path.end());
    }

    void check_liveness() {
        ways_of_.push_back(static_cast<std::uint32_t>(ways_.size()));
        const std::vector<bool> finishes = can_finish();
        for (Id id = 0; id < finishes.size(); ++id) {
            if (finishes[id]) continue;
            if (result_.stuck++ > 0) continue;
            end(SearchVerdict::stuck,
                ways_of_[id] == ways_of_[id + 1]
                    ? "nothing more will happen, and not all is done"
                    : "whatever happens from here on, this never finishes",
                id);
        }
        if (result_.verdict == SearchVerdict::holds) walk_home();
    }

    /// Goes backwards from the states in which everything is done, along moves without faults.
    std::vector<bool> can_finish() {
        const auto states = static_cast<Id>(known_.size());
        std::vector<std::uint32_t> sources_of(states + 1, 0);
        for (const Id to : ways_) ++sources_of[to + 1];
        for (Id id = 0; id < states; ++id) sources_of[id + 1] += sources_of[id];
        std::vector<Id> sources(ways_.size());
        std::vector<std::uint32_t> filled(sources_of.begin(), sources_of.end() - 1);
        for (Id from = 0; from < states; ++from) {
            for (auto i = ways_of_[from]; i < ways_of_[from + 1]; ++i) {
                sources[filled[ways_[i]]++] = from;
            }
        }
        std::vector<bool> finishes = finished_;
        std::vector<Id> open;
        for (Id id = 0; id < states; ++id) {
            if (finishes[id]) open.push_back(id);
        }
        result_.finished = open.size();
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

    // Takes the first move of every state. A run must not come back to a state before everything is
    // done.
    void walk_home() {
        std::vector<Rest> rests(known_.size());
        std::vector<Id> path;
        for (Id id = 0; id < rests.size(); ++id) {
            path.clear();
            Id at = id;
            for (; rests[at].moves == unknown && !finished_[at]; at = ways_[ways_of_[at]]) {
                rests[at].moves = walking;
                path.push_back(at);
            }
            if (rests[at].moves == walking) {
                return end(SearchVerdict::in_circles,
                           "from here on a run without faults goes in circles", at);
            }
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
    }

    // Continues a path with the first moves of its states, until a state repeats.
    void go_on_for_ever(W world) {
        for (const SearchMove move : result_.path) world.take(move);
        FingerprintTable met;
        while (true) {
            Fingerprint sink;
            world.fingerprint(sink);
            const auto place = met.find_or_add(sink.value());
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
    FingerprintTable known_;
    std::deque<W> open_;
    Id expanded_ = 0;
    std::vector<SearchMove> moves_;
    std::vector<Origin> origins_;
    std::vector<bool> finished_;
    std::vector<bool> waits_;             // by state: its first move is a wait
    std::vector<Id> ways_;                // states to which the states lead without a fault
    std::vector<std::uint32_t> ways_of_;  // by state: index of its first entry in ways_
};

}  // namespace wireproof::lab
