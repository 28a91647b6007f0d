// Tests which node takes a turn, and when.
#include "wireproof/sim/run.hpp"

#include <gtest/gtest.h>

#include <string>

#include "wireproof/sim/network.hpp"

namespace wireproof::sim {
namespace {

constexpr Instant run_at(std::int64_t nanoseconds) {
    return Instant(Duration::nanoseconds(nanoseconds));
}

NetworkConfig quick_run(std::size_t nodes) {
    return {.nodes = nodes,
            .frame_max = 64,
            .bytes_per_second = 1'000'000'000,
            .latency = Duration::nanoseconds(90)};
}

void send_ten(Network& network, std::size_t from, std::size_t to, Instant now) {
    auto& lane = network.wire(from).lane(PeerId{static_cast<std::uint16_t>(to)});
    lane.claim()->add_room(10);
    lane.commit();
    network.wire(from).flush(now);
}

bool not_yet() {
    return false;
}

// The turns as text, node@time: "0@0 1@0 1@100".
struct Diary {
    std::string text;
    void note(std::size_t node, Instant now) {
        if (!text.empty()) text += ' ';
        text += std::to_string(node) + '@' + std::to_string(now.since_start().nanoseconds());
    }
};

TEST(Run, TurnsNodesAtTheirDeadlinesAndArrivalsInOrder) {
    Network network(quick_run(3));
    Schedule schedule(3);
    Diary diary;
    int left = 4;
    const auto step = [&](std::size_t node, Instant now) {
        diary.note(node, now);
        while (network.wire(node).receive(now)) {
        }
        // Node 2 sends to 0 every 60 ns; node 1 has nothing to do.
        if (node != 2 || left-- == 0) return never;
        send_ten(network, 2, 0, now);
        return now + Duration::nanoseconds(60);
    };
    const RunResult result = run(network, schedule, step, not_yet);
    EXPECT_EQ(diary.text, "0@0 1@0 2@0 2@60 0@100 2@120 0@160 2@180 0@220 2@240 0@280");
    EXPECT_EQ(result.end, RunEnd::idle);
    EXPECT_EQ(result.now, run_at(280));
    EXPECT_EQ(result.turns, 11u);
}

TEST(Run, NodesDueTogetherGoByNumber) {
    Network network(quick_run(3));
    Schedule schedule(3, run_at(7));
    Diary diary;
    const auto step = [&](std::size_t node, Instant now) {
        diary.note(node, now);
        return now == run_at(7) ? run_at(50) : never;
    };
    run(network, schedule, step, not_yet);
    EXPECT_EQ(diary.text, "0@7 1@7 2@7 0@50 1@50 2@50");
}

TEST(Run, APausedNodeFindsEverythingWhenItWakes) {
    Network network(quick_run(2));
    Schedule schedule(2);
    Diary diary;
    int received = 0;
    int to_send = 3;
    schedule.pause(1, run_at(1000));
    const auto step = [&](std::size_t node, Instant now) {
        diary.note(node, now);
        while (network.wire(node).receive(now)) ++received;
        if (node == 1 || to_send == 0) return never;
        --to_send;
        send_ten(network, 0, 1, now);
        return now + Duration::nanoseconds(10);
    };
    run(network, schedule, step, not_yet);
    EXPECT_EQ(diary.text, "0@0 0@10 0@20 0@30 1@1000");
    EXPECT_EQ(received, 3);
}

TEST(Run, StopsAtEachLimitAndGoesOnFromThere) {
    Network network(quick_run(2));
    Schedule schedule(2);
    int turns = 0;
    const auto step = [&](std::size_t, Instant now) {
        ++turns;
        return now + Duration::nanoseconds(10);
    };
    RunResult result = run(network, schedule, step, not_yet, {.until = run_at(25)});
    EXPECT_EQ(result.end, RunEnd::time_limit);
    EXPECT_EQ(result.now, run_at(25));
    EXPECT_EQ(turns, 6);
    result = run(network, schedule, step, not_yet, {.turns = 3});
    EXPECT_EQ(result.end, RunEnd::turn_limit);
    EXPECT_EQ(result.now, run_at(40));
    EXPECT_EQ(result.turns, 3u);
    result = run(network, schedule, step, [&] { return turns == 10; });
    EXPECT_EQ(result.end, RunEnd::done);
    EXPECT_EQ(turns, 10);
}

TEST(Run, AUserMayWakeANodeThatHadNothingToDo) {
    Network network(quick_run(2));
    Schedule schedule(2);
    Diary diary;
    const auto step = [&](std::size_t node, Instant now) {
        diary.note(node, now);
        if (now == run_at(30)) schedule.wake(1 - node, now);
        return never;
    };
    EXPECT_EQ(run(network, schedule, step, not_yet).end, RunEnd::idle);
    schedule.wake(1, run_at(30));
    EXPECT_EQ(run(network, schedule, step, not_yet, {.turns = 2}).end, RunEnd::turn_limit);
    EXPECT_EQ(diary.text, "0@0 1@0 1@30 0@30");
}

TEST(Run, ASenderStoppedByAFullLaneGoesOnWhenThereIsRoom) {
    NetworkConfig config = quick_run(2);
    config.in_flight_max = 4;
    Network network(config);
    Schedule schedule(2);
    int to_send = 100;
    int received = 0;
    const auto step = [&](std::size_t node, Instant now) {
        while (network.wire(node).receive(now)) ++received;
        if (node == 0) {
            Cable& lane = network.wire(0).lane(PeerId{1});
            while (to_send > 0) {
                TxFrame* room = lane.claim();
                if (room == nullptr) break;
                room->add_room(10);
                lane.commit();
                --to_send;
            }
        }
        network.wire(node).flush(now);
        return never;
    };
    const RunResult result = run(network, schedule, step, not_yet);
    EXPECT_EQ(result.end, RunEnd::idle);
    EXPECT_EQ(received, 100);
}

}  // namespace
}  // namespace wireproof::sim
