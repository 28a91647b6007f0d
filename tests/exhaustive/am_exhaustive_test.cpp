// Everything that can happen to the first frames of small worlds: each is delivered, lost,
// repeated, swapped with the next one or damaged, in every combination; after them the wire is
// perfect. Every run must deliver everything exactly once, in order, at a bounded cost.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <optional>

#include "tests/exhaustive/tiny_world.hpp"

namespace wireproof::tiny {
namespace {

enum class Fate : std::uint8_t { delivered, lost, repeated, swapped, damaged };
constexpr std::uint64_t fates = 5;

constexpr Duration tick = Duration::nanoseconds(1);
constexpr std::uint64_t flight_ticks = 2;
constexpr std::uint64_t ticks_max = 2000;

/// One direction.
class Road {
public:
    void send(const Frame& frame, std::uint64_t now, Fate fate) {
        const std::uint64_t due = now + flight_ticks;
        if (fate == Fate::lost) return;
        if (fate == Fate::swapped && !held_) {
            held_ = frame;
            held_until_ = due + 4;
            return;
        }
        flying_.push_back({frame, due});
        flying_.back().frame.damaged = fate == Fate::damaged;
        if (fate == Fate::repeated) flying_.push_back({frame, due});
        release(due);
    }

    std::optional<Frame> take(std::uint64_t now) {
        if (held_ && now >= held_until_) release(now);  // nothing followed it
        if (flying_.empty() || flying_.front().due > now) return std::nullopt;
        const Frame frame = flying_.front().frame;
        flying_.pop_front();
        return frame;
    }

    bool empty() const { return flying_.empty() && !held_; }

private:
    struct Flying {
        Frame frame;
        std::uint64_t due;
    };

    void release(std::uint64_t due) {
        if (held_) flying_.push_back({*held_, due});
        held_.reset();
    }

    std::deque<Flying> flying_;
    std::optional<Frame> held_;
    std::uint64_t held_until_ = 0;
};

struct Run {
    World world;
    std::array<std::uint64_t, 2> frames_left;  // whose fate the code says
    std::uint64_t code;                        // one digit a frame, in the order they leave
    std::uint64_t faults = 0;

    Fate next_fate(std::size_t from) {
        if (frames_left[from] == 0) return Fate::delivered;
        --frames_left[from];
        const auto fate = static_cast<Fate>(code % fates);
        code /= fates;
        faults += fate == Fate::delivered ? 0 : 1;
        return fate;
    }

    /// One frame a tick and direction, until all is done.
    void go() {
        std::array<Road, 2> roads;  // by sender
        for (std::uint64_t now = 1; now < ticks_max; ++now) {
            world.advance(Instant(tick * static_cast<std::int64_t>(now)));
            for (std::size_t node = 0; node < 2; ++node) {
                while (const auto frame = roads[1 - node].take(now)) world.receive(node, *frame);
                world.on_deadline(node);
                Frame frame;
                if (world.transmit(node, frame)) roads[node].send(frame, now, next_fate(node));
            }
            if (!world.violation().empty()) return;
            if (roads[0].empty() && roads[1].empty() && world.finished()) return check_cost();
        }
        world.fail("not finished after " + std::to_string(ticks_max) + " ticks");
    }

    // AM-38, AM-53: a resend begins for a fault, a keep-alive or a refusal, and for nothing else.
    void check_cost() {
        for (std::size_t node = 0; node < 2; ++node) {
            const am::Stats& own = world.end(node).stats();
            const am::Stats& peer = world.end(1 - node).stats();
            const std::uint64_t reasons =
                faults + own.sent_of(am::Kind::keepalive) + peer.received_as(RxVerdict::refused);
            if (own.nacks_acted_on > reasons) world.fail("more resends than reasons for one");
            const std::uint64_t window = world.end(node).config().window[0];
            if (own.resent > own.nacks_acted_on * window) world.fail("more resent than asked for");
            if (own.keepalive_timeouts > 3 * faults + 4) world.fail("too many keep-alives");
        }
    }
};

std::string spelled(std::uint64_t code, std::uint64_t frames) {
    std::string letters;
    for (; frames > 0; --frames, code /= fates) letters += "DLRSX"[code % fates];
    return letters;
}

struct Case {
    const char* name;
    Programs programs;
};

Operation request(bool answered) {
    return {.what = Operation::What::request, .answered = answered};
}
Operation store(std::size_t bytes) {
    return {.what = Operation::What::store, .bytes = bytes};
}
Operation get(std::size_t bytes) {
    return {.what = Operation::What::get, .bytes = bytes};
}

// Chunks have 64 bytes: 100 are two chunks, the last packet is short.
std::vector<Case> cases() {
    return {
        {"requests and replies",
         {{{request(true), request(false), request(true), request(true)}, {}}}},
        {"requests both ways", {{{request(true), request(true)}, {request(true), request(false)}}}},
        {"a store among requests", {{{request(false), store(100), request(true)}, {}}}},
        {"a store against a request", {{{store(100)}, {request(true)}}}},
        {"a get", {{{get(100), request(true)}, {}}}},
        {"gets both ways", {{{get(100)}, {get(40)}}}},
    };
}

void try_everything(am::Recovery recovery, std::uint32_t window, std::uint64_t forth,
                    std::uint64_t back) {
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t codes = 1;
    for (std::uint64_t i = 0; i < forth + back; ++i) codes *= fates;
    std::uint64_t runs = 0;
    for (const Case& which : cases()) {
        Arena arena;
        const World fresh(config(recovery, window), which.programs, arena);
        for (std::uint64_t code = 0; code < codes; ++code, ++runs) {
            Run run{fresh, {forth, back}, code};
            fresh.enter();
            run.go();
            ASSERT_EQ(run.world.violation(), "")
                << which.name << ", window " << window << ", fates " << spelled(code, forth + back)
                << " (delivered, lost, repeated, swapped, X damaged)";
        }
    }
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    std::printf("%llu runs in %.1f s\n", static_cast<unsigned long long>(runs), taken.count());
    testing::Test::RecordProperty("runs", std::to_string(runs));
}

TEST(AmExhaustive, GoBackNSurvivesEveryFateOfTheFirstFrames) {
    try_everything(am::Recovery::go_back_n, 4, 4, 3);
    try_everything(am::Recovery::go_back_n, 3, 3, 2);
}

TEST(AmExhaustive, SelectiveRecoverySurvivesEveryFateOfTheFirstFrames) {
    try_everything(am::Recovery::selective, 4, 4, 3);
    try_everything(am::Recovery::selective, 3, 3, 2);
}

}  // namespace
}  // namespace wireproof::tiny
