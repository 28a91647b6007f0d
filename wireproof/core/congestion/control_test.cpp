#include "wireproof/core/congestion/control.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace wireproof::congestion {
namespace {

// One flow, and what may happen to it next.
struct Flow {
    Control control;
    Instant now{Duration::milliseconds(1)};

    void pass(Duration time) { now = now + time; }
    void answer(Duration rtt, std::uint32_t arrived, std::uint32_t lost) {
        pass(rtt);
        const std::uint32_t in_flight = control.packets();
        control.on_rtt(now, rtt);
        if (arrived > 0) control.on_arrived(now, arrived, in_flight);
        if (lost > 0) control.on_lost(now, lost);
    }
};

constexpr std::array<void (*)(Flow&), 9> events = {
    [](Flow& flow) { flow.answer(Duration::milliseconds(1), flow.control.packets(), 0); },
    [](Flow& flow) { flow.answer(Duration::milliseconds(40), flow.control.packets(), 0); },
    [](Flow& flow) { flow.answer(Duration::milliseconds(1), 1, 1); },
    [](Flow& flow) { flow.answer(Duration::milliseconds(40), 0, flow.control.packets()); },
    [](Flow& flow) { flow.control.on_lost(flow.now, 1); },  // no answer has measured anything
    [](Flow& flow) { flow.control.on_overrun(flow.now, flow.control.packets()); },
    [](Flow& flow) { flow.control.on_marked(flow.now, 1); },
    [](Flow& flow) { flow.control.on_silence(Duration::milliseconds(500)); },
    [](Flow& flow) { flow.pass(Duration::milliseconds(20'000)); },
};

struct Search {
    std::uint64_t states = 0;

    // The window is never closed, and it opens again when packets arrive.
    void visit(const Flow& flow, int depth) {
        ++states;
        ASSERT_GE(flow.control.packets(), 1U);
        ASSERT_LE(flow.control.packets(), 64U);
        ASSERT_TRUE(!flow.control.burst().limits() || flow.control.burst().packets > 0);
        Flow later = flow;
        for (int i = 0; i < 4; ++i) later.answer(Duration::milliseconds(1), 1, 0);
        ASSERT_GE(later.control.packets(), 2U);
        if (depth == 0) return;
        for (const auto event : events) {
            Flow next = flow;
            event(next);
            visit(next, depth - 1);
            if (testing::Test::HasFatalFailure()) return;
        }
    }
};

// Every sequence of up to six events, from the start and from a flow that competes.
TEST(CongestionControl, NeverStallsWhateverHappens) {
    for (const Algorithm algorithm : {Algorithm::loss, Algorithm::path}) {
        Search search;
        search.visit({.control = Control(algorithm, {.start = 10, .most = 64})}, 6);
        Flow competing{.control = Control(algorithm, {.start = 10, .most = 64})};
        for (int i = 0; i < 40; ++i) events[0](competing);
        for (int i = 0; i < 40; ++i) events[1](competing);
        search.visit(competing, 5);
        EXPECT_GT(search.states, 300'000U);
    }
}

// Four windows while the window doubles. Without a limit on a short path.
void expect_bursts(Algorithm algorithm, bool starting) {
    for (const std::int64_t microseconds : {0, 999, 1'000, 2'000, 40'000, 10'000'000}) {
        for (const std::uint32_t window : {1U, 2U, 10U, 17U, 160U, 1'024U}) {
            const Duration rtt = Duration::microseconds(microseconds);
            Control control(algorithm, {.start = window, .most = 2'000});
            if (microseconds > 0) control.on_rtt(Instant() + rtt, rtt);
            if (!starting) control.on_marked(Instant() + rtt, 1);
            const Burst burst = control.burst();
            ASSERT_EQ(burst.limits(), microseconds >= 1'000) << microseconds;
            if (microseconds < 1'000) continue;
            EXPECT_GE(burst.interval, Duration::microseconds(250));
            EXPECT_TRUE(burst.interval <= Duration(rtt.picoseconds() / 2) || burst.packets <= 3);
            const double in_round_trip = (starting ? 4.0 : 2.0) * control.packets();
            EXPECT_NEAR(burst.packets * rtt.seconds(), in_round_trip * burst.interval.seconds(),
                        1e-3 * in_round_trip * burst.interval.seconds());
        }
    }
}

TEST(CongestionControl, LetsTwoWindowsLeaveInARoundTripOfAMillisecondOrMore) {
    for (const bool starting : {false, true}) {
        expect_bursts(Algorithm::loss, starting);
        expect_bursts(Algorithm::path, starting);
    }
}

TEST(CongestionControl, EqualCallsHaveEqualFingerprints) {
    for (const Algorithm algorithm : {Algorithm::loss, Algorithm::path}) {
        Flow a{.control = Control(algorithm, {})};
        Flow b = a;
        const auto print = [](const Flow& flow) {
            Fingerprint sink;
            flow.control.fingerprint(flow.now, sink);
            return sink.value();
        };
        for (int i = 0; i < 100; ++i) {
            events[static_cast<std::size_t>(i * 7 % 9)](a);
            events[static_cast<std::size_t>(i * 7 % 9)](b);
            ASSERT_EQ(print(a), print(b));
        }
        a.control.on_lost(a.now, 1);
        EXPECT_NE(print(a), print(b));
    }
}

}  // namespace
}  // namespace wireproof::congestion
