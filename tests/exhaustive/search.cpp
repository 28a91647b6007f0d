#include "tests/exhaustive/search.hpp"

#include <queue>
#include <unordered_map>

namespace wireproof::tiny {
namespace {

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
    Search(const am::Config& config, const Programs& programs, SearchLimits limits)
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
    SearchLimits limits_;
    State fresh_;
    std::queue<State> open_;
    std::unordered_map<Fingerprint::Value, Id, Hash> known_;
    std::vector<Id> after_;  // by state: what comes next without faults
    Id expanded_ = 0;
    std::string violation_;
};

}  // namespace

SearchResult search(const am::Config& config, const Programs& programs,
                    const SearchLimits& limits) {
    Search search(config, programs, limits);
    search.go();
    return {search.violation(), search.states()};
}

}  // namespace wireproof::tiny
