// Breadth-first search over two engines and the frames between them: every order in which frames
// may leave, arrive, be overtaken, repeated and lost, with so many faults in all, wherever they
// fall. Safety in every state; and from every state the run without further faults finishes.
//
// A frame may stay on its way for as long as it likes, so no number may come twice: the circle here
// is larger than a world's messages and window need. Faults are counted, because each lets the
// round grow, and with it the number of states.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <queue>
#include <unordered_map>

#include "tests/exhaustive/tiny_world.hpp"

namespace wireproof::tiny {
namespace {

struct Limits {
    std::size_t in_flight = 2;  // frames, each way
    std::uint32_t faults = 2;
    std::size_t states = 100'000;  // more mean that something goes on for ever
};

struct State {
    World world;
    std::array<std::vector<Frame>, 2> roads;  // by sender, the oldest first
    std::uint32_t faults = 0;

    Fingerprint::Value fingerprint() const {
        Fingerprint sink;
        world.fingerprint(sink);
        for (const auto& road : roads) {
            sink.add(road.size());
            for (const Frame& frame : road) frame.fingerprint(sink);
        }
        sink.add(faults);
        return sink.value();
    }
    bool quiet() const { return roads[0].empty() && roads[1].empty(); }
};

struct Hash {
    std::size_t operator()(const Fingerprint::Value& value) const {
        return static_cast<std::size_t>(value.low);
    }
};

/// What leads from a state to the next.
struct Action {
    enum class What : std::uint8_t { arrive, leave, wait, lose, repeat };
    What what = What::wait;
    std::size_t node = 0;   // that sends, or sent
    std::size_t frame = 0;  // on its road
};

class Search {
public:
    Search(const am::Config& config, const Programs& programs, Limits limits)
        : limits_(limits), fresh_{World(config, programs, arena_), {}, 0} {}

    void go() {
        note(fresh_);
        while (!open_.empty() && violation_.empty()) {
            const State state = std::move(open_.front());
            open_.pop();
            expand(state, expanded_++);
            if (known_.size() > limits_.states) violation_ = "the search finds no end of states";
        }
        if (violation_.empty()) check_liveness();
    }

    const std::string& violation() const { return violation_; }
    std::size_t states() const { return known_.size(); }

private:
    using Id = std::uint32_t;
    static constexpr Id none = 0xFFFFFFFF;

    /// The state's number; new ones are expanded later, in the order of their numbers.
    Id note(const State& state) {
        const auto [place, is_new] =
            known_.try_emplace(state.fingerprint(), static_cast<Id>(known_.size()));
        if (is_new) {
            open_.push(state);
            after_.push_back(none);
        }
        return place->second;
    }

    // True: the action was possible, and the state is the next one.
    bool take(State& state, const Action& action) {
        auto& road = state.roads[action.node];
        const auto at = road.begin() + static_cast<std::ptrdiff_t>(action.frame);
        switch (action.what) {
            case Action::What::arrive:
            case Action::What::repeat: {
                const Frame frame = *at;
                if (action.what == Action::What::arrive) road.erase(at);
                state.world.receive(1 - action.node, frame);
                return true;
            }
            case Action::What::lose: road.erase(at); return true;
            case Action::What::leave: {
                Frame frame;
                if (!state.world.transmit(action.node, frame)) return false;
                road.push_back(frame);
                return true;
            }
            case Action::What::wait: {
                const Instant next = std::min(state.world.end(0).next_deadline(),
                                              state.world.end(1).next_deadline());
                if (next == never) return false;
                state.world.advance(next);
                state.world.on_deadline(0);
                state.world.on_deadline(1);
                return true;
            }
        }
        return false;
    }

    Id follow(const State& from, const Action& action, std::uint32_t faults) {
        State state = from;
        state.world.enter();
        state.faults += faults;
        if (!take(state, action)) return none;
        state.world.leave();
        if (!state.world.violation().empty()) violation_ = state.world.violation();
        return note(state);
    }

    void expand(const State& state, Id id) {
        using What = Action::What;
        Id without_faults = none;
        const auto step = [&](const Action& action) {
            const Id next = follow(state, action, 0);
            if (without_faults == none) without_faults = next;
        };
        for (std::size_t node = 0; node < 2; ++node) {
            if (!state.roads[node].empty()) step({What::arrive, node, 0});
        }
        for (std::size_t node = 0; node < 2; ++node) {
            if (state.roads[node].size() < limits_.in_flight) step({What::leave, node, 0});
        }
        // Timers are longer than round trips: they end when nothing else can happen.
        if (without_faults == none) step({What::wait, 0, 0});
        after_[id] = without_faults;
        if (without_faults == none && !(state.quiet() && state.world.finished())) {
            violation_ = "nothing more will happen, and not all is done";
        }
        if (state.faults == limits_.faults) return;
        for (std::size_t node = 0; node < 2; ++node) {
            for (std::size_t i = 0; i < state.roads[node].size(); ++i) {
                follow(state, {What::lose, node, i}, 1);
                follow(state, {What::repeat, node, i}, 1);
                if (i > 0) follow(state, {What::arrive, node, i}, 1);
            }
        }
    }

    // Without further faults a state has one future. It must end, so it must not meet itself.
    void check_liveness() {
        std::vector<std::uint8_t> ends(after_.size(), 0);  // 1: being walked, 2: ends
        std::vector<Id> path;
        for (Id id = 0; id < after_.size(); ++id) {
            path.clear();
            Id at = id;
            for (; at != none && ends[at] == 0; at = after_[at]) {
                ends[at] = 1;
                path.push_back(at);
            }
            if (at != none && ends[at] == 1) violation_ = "a run without faults goes in circles";
            for (const Id walked : path) ends[walked] = 2;
        }
    }

    Arena arena_;
    Limits limits_;
    State fresh_;
    std::queue<State> open_;
    std::unordered_map<Fingerprint::Value, Id, Hash> known_;
    std::vector<Id> after_;  // by state: what comes next without faults
    Id expanded_ = 0;
    std::string violation_;
};

am::Config roomy(am::Recovery recovery, std::uint32_t window) {
    am::Config wide = config(recovery, window);
    wide.modulus = 64;
    wide.first_number = {63, 62};
    return wide;
}

void search(const char* name, const am::Config& config, const Programs& programs, Limits limits) {
    const auto start = std::chrono::steady_clock::now();
    Search search(config, programs, limits);
    search.go();
    EXPECT_EQ(search.violation(), "") << name;
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::printf("%s: %zu states in %.1f s\n", name, search.states(), taken.count());
    testing::Test::RecordProperty(name, std::to_string(search.states()));
}

Operation request(bool answered) {
    return {.what = Operation::What::request, .answered = answered};
}

class AmSearch : public testing::TestWithParam<am::Recovery> {};

TEST_P(AmSearch, OneWayRequestsAreSafeAndLive) {
    const Programs programs{{{request(false), request(false), request(false), request(false)}, {}}};
    search("window 2, four requests", roomy(GetParam(), 2), programs, {3, 3});
    search("window 3, four requests", roomy(GetParam(), 3), programs, {3, 2});
}

TEST_P(AmSearch, RequestsAndRepliesAreSafeAndLive) {
    const Programs programs{{{request(true), request(true), request(true)}, {}}};
    search("window 2, three requests and replies", roomy(GetParam(), 2), programs, {2, 2});
}

TEST_P(AmSearch, AChunkIsSafeAndLive) {
    const Programs programs{{{{.what = Operation::What::store, .bytes = 100}, request(false)}, {}}};
    search("window 3, a store of two chunks and a request", roomy(GetParam(), 3), programs, {3, 2});
}

INSTANTIATE_TEST_SUITE_P(Recovery, AmSearch,
                         testing::Values(am::Recovery::go_back_n, am::Recovery::selective),
                         [](const auto& chosen) {
                             return chosen.param == am::Recovery::go_back_n ? "GoBackN"
                                                                            : "Selective";
                         });

}  // namespace
}  // namespace wireproof::tiny
