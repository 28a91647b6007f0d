// Paths that lose only long packets, as behind a router that has a smaller MTU and does not report
// it. The sender of a store ends the session within three peer timeouts, reports the length of the
// packets and sends few of them (AM-50, AM-53).
#include <gtest/gtest.h>

#include "tests/sim/am_script.hpp"

#include "wireproof/lab/worlds/am_world_plan.hpp"

namespace wireproof {
namespace {

constexpr std::size_t longest = 1000;  // bytes of the longest frame that arrives
constexpr Duration timeout = Duration::milliseconds(3'000);

FrameInfo describe_length(ConstBytes frame) {
    FrameInfo info = describe_nothing(frame);
    info.kind = frame.size() > longest ? "long" : "short";
    return info;
}

am::Config between_hosts(am::Congestion congestion) {
    am::Config config = am::Config::ethernet();
    config.congestion = congestion;
    config.give_up_after(timeout);
    return config;
}

sim::NetworkConfig ethernet_network() {
    return {.nodes = 2,
            .frame_max = 1472,
            .bytes_per_second = 125'000'000,
            .latency = Duration::microseconds(100),
            .in_flight_max = 64,
            .seed = 5};
}

/// Node 0 uses the memory of node 1. Long frames from node `mute` to the other node are lost.
struct Hole {
    Hole(const am::Config& config, std::size_t mute)
        : net(ethernet_network(), config, 1), script(net), memory(600'000), source(600'000) {
        net.network().cable(mute, 1 - mute).describe_with(describe_length);
        net.network().faults(mute, 1 - mute).add_rule({.kind = "long", .fate = {.lost = true}});
        const bool added = net.memory(1, 0).add(0x1000, memory, {.read = true, .write = true});
        EXPECT_TRUE(added);
        script.delivered = [this](std::size_t node, std::size_t, const am::Delivery& delivery) {
            const auto* ended = std::get_if<am::SessionEnded>(&delivery);
            if (ended != nullptr) ends.push_back({node, *ended, net.schedule().now()});
        };
        script.turn = [this](std::size_t node, Instant) {
            if (node == 0 && !asked) asked = ask && ask(net.at(0, 1));
            return never;
        };
    }

    void run(Duration until) {
        net.schedule().wake(0, Instant());
        (void)net.run_until(script, [this] { return !ends.empty(); }, {.until = Instant(until)});
    }

    struct End {
        std::size_t node = 0;
        am::SessionEnded how;
        Instant at;
    };
    lab::AmNet net;
    Script script;
    std::vector<std::byte> memory;
    std::vector<std::byte> source;
    std::function<bool(am::Connection&)> ask;
    bool asked = false;
    std::vector<End> ends;
};

TEST(AmUnansweredPath, AStoreEndsInTimeAndSendsLittle) {
    for (const am::Congestion congestion : {am::Congestion::by_loss, am::Congestion::off}) {
        const am::Config config = between_hosts(congestion);
        Hole hole(config, 0);
        hole.ask = [&](am::Connection& connection) {
            return connection.store({.address = 0x1000,
                                     .source = ConstBytes(hole.source).first(600'000),
                                     .handler = store_handler,
                                     .tag = 4}) == am::PostStatus::accepted;
        };
        hole.run(timeout * 4);
        ASSERT_EQ(hole.ends.size(), 1U);
        EXPECT_EQ(hole.ends[0].node, 0U);
        EXPECT_EQ(hole.ends[0].how.why, am::SessionEnded::Why::unanswered);
        EXPECT_EQ(hole.ends[0].how.packet_bytes, config.packet_max);
        EXPECT_GT(hole.ends[0].how.packet_times, config.resend_limit - 1);
        EXPECT_GE(hole.ends[0].at, Instant(timeout));
        EXPECT_LE(hole.ends[0].at, Instant(timeout * 3));
        EXPECT_LT(hole.net.at(0, 1).stats().resent, 100U);
        std::uint64_t own = 0;
        for (const std::uint64_t count : hole.net.at(0, 1).stats().sent) own += count;
        EXPECT_LT(own, 200U);
        EXPECT_EQ(hole.script.counts[0].unknown, 1U);
    }
}

// AM-50: in a get, the side that sends the data notices the loss and tells the other side.
TEST(AmUnansweredPath, AGetEndsInTimeAtBothEnds) {
    const am::Config config = between_hosts(am::Congestion::by_loss);
    Hole hole(config, 1);
    std::vector<std::byte> here(60'000);
    hole.ask = [&](am::Connection& connection) {
        return connection.get({.address = 0x1000, .destination = here, .tag = 4}) ==
               am::PostStatus::accepted;
    };
    hole.run(timeout * 4);
    ASSERT_EQ(hole.ends.size(), 1U);
    EXPECT_EQ(hole.ends[0].node, 1U);
    EXPECT_EQ(hole.ends[0].how.why, am::SessionEnded::Why::unanswered);
    EXPECT_FALSE(hole.ends[0].how.by_peer);
    EXPECT_LE(hole.ends[0].at, Instant(timeout * 3));
    const Instant first = hole.ends[0].at;
    hole.ends.clear();
    hole.run(timeout * 5);
    ASSERT_EQ(hole.ends.size(), 1U);
    EXPECT_EQ(hole.ends[0].node, 0U);
    EXPECT_EQ(hole.ends[0].how.why, am::SessionEnded::Why::unanswered);
    EXPECT_TRUE(hole.ends[0].how.by_peer);
    EXPECT_EQ(hole.ends[0].how.packet_bytes, config.packet_max);
    EXPECT_LE(hole.ends[0].at, first + Duration::milliseconds(1));  // node 1 told it
}

// Packets that fit do not end the session, even if some of them are lost, too.
TEST(AmUnansweredPath, ShortPacketsOnALossyPathEndNothing) {
    Hole hole(between_hosts(am::Congestion::by_loss), 0);
    hole.net.network().faults(1, 0) = FaultPlan(FaultRates{.loss = 0.3}, 7);
    FaultPlan there(FaultRates{.loss = 0.3}, 8);
    there.add_rule({.kind = "long", .fate = {.lost = true}});
    hole.net.network().faults(0, 1) = there;
    std::size_t left = 300;
    hole.script.turn = [&](std::size_t node, Instant now) {
        if (node != 0 || left == 0) return never;
        // One request at a time, so that none is in a long bundle.
        if (hole.net.at(0, 1).idle()) {
            if (hole.net.at(0, 1).request(plain_handler, words_of(left)) ==
                am::PostStatus::accepted) {
                --left;
            }
        }
        return now + Duration::milliseconds(1);
    };
    hole.run(Duration::milliseconds(60'000));
    EXPECT_EQ(hole.ends.size(), 0U);
    EXPECT_EQ(hole.script.counts[1].requests, 300U);
}

}  // namespace
}  // namespace wireproof
