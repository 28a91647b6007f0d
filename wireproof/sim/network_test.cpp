// Tests which node gets which frames in which order, and that the seed determines a run.
#include "wireproof/sim/network.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace wireproof::sim {
namespace {

constexpr Instant at(std::int64_t nanoseconds) {
    return Instant(Duration::nanoseconds(nanoseconds));
}

NetworkConfig quick(std::size_t nodes) {
    return {.nodes = nodes,
            .frame_max = 64,
            .bytes_per_second = 1'000'000'000,
            .latency = Duration::nanoseconds(100)};
}

void send(Network& network, std::size_t from, std::size_t to, Instant now, std::size_t size = 10) {
    NodeWire& wire = network.wire(from);
    auto& lane = wire.lane(PeerId{static_cast<std::uint16_t>(to)});
    TxFrame* room = lane.claim();
    ASSERT_NE(room, nullptr);
    room->add_room(size);
    lane.commit();
    wire.flush(now);
}

// The senders of the frames that have arrived, in the order of receive().
std::string senders(Network& network, std::size_t node, Instant now) {
    std::string text;
    while (const auto frame = network.wire(node).receive(now)) {
        text += std::to_string(static_cast<unsigned>(frame->from));
    }
    return text;
}

FrameInfo name_all(ConstBytes bytes) {
    FrameInfo info;
    info.kind = "DATA";
    info.number = static_cast<std::uint32_t>(bytes[0]);
    return info;
}

TEST(Network, ALaneThatIsKeptGetsTheTimeFromItsWire) {
    NetworkConfig config = quick(2);
    config.one_at_a_time = true;
    Network network(config);
    NodeWire& wire = network.wire(0);
    auto& lane = wire.lane(PeerId{1});
    TxFrame* const room = lane.claim();
    ASSERT_NE(room, nullptr);
    room->add_room(64);
    lane.commit();
    EXPECT_EQ(lane.claim(), nullptr);
    EXPECT_FALSE(wire.receive(at(63)));
    EXPECT_EQ(lane.claim(), nullptr);
    EXPECT_FALSE(wire.receive(at(64)));
    EXPECT_NE(lane.claim(), nullptr);
}

TEST(Network, HandsFramesUpInOrderOfArrivalOverAllCables) {
    Network network(quick(4));
    send(network, 3, 0, at(0));
    send(network, 2, 0, at(1));
    send(network, 2, 0, at(2));
    send(network, 1, 0, at(5));
    send(network, 0, 1, at(5));
    EXPECT_EQ(network.wire(0).next_deadline(), at(110));
    EXPECT_EQ(senders(network, 0, at(109)), "");
    EXPECT_EQ(senders(network, 0, at(110)), "3");
    EXPECT_EQ(network.wire(0).next_deadline(), at(111));
    EXPECT_EQ(senders(network, 0, at(500)), "212");
    EXPECT_EQ(network.wire(0).next_deadline(), never);
    EXPECT_EQ(senders(network, 1, at(500)), "0");
}

TEST(Network, FramesThatArriveTogetherComeByNodeNumber) {
    Network network(quick(4));
    for (const std::size_t from : {3u, 1u, 2u}) send(network, from, 0, at(0));
    EXPECT_EQ(senders(network, 0, at(110)), "123");
}

TEST(Network, EachCableHasItsOwnFaultsAndCounts) {
    Network network(quick(3));
    FaultRule rule;
    rule.fate.lost = true;
    network.faults(1, 0).add_rule(rule);
    for (const std::size_t from : {1u, 2u}) send(network, from, 0, at(0), 20);
    EXPECT_EQ(senders(network, 0, at(500)), "2");
    EXPECT_EQ(network.counts(1, 0).lost, 1u);
    EXPECT_EQ(network.counts(2, 0).lost, 0u);
    EXPECT_EQ(network.totals().frames, 2u);
    EXPECT_EQ(network.totals().bytes, 40u);
}

TEST(Network, ACutStopsOneDirectionUntilItIsMended) {
    Network network(quick(2));
    network.cut(0, 1);
    send(network, 0, 1, at(0));
    send(network, 1, 0, at(0));
    EXPECT_EQ(senders(network, 1, at(500)), "");
    EXPECT_EQ(senders(network, 0, at(500)), "1");
    network.mend(0, 1);
    send(network, 0, 1, at(500));
    EXPECT_EQ(senders(network, 1, at(1000)), "0");
    EXPECT_EQ(network.totals().cut, 1u);
}

TEST(Network, WakesASenderWhoseFullLaneGotRoom) {
    NetworkConfig config = quick(2);
    config.in_flight_max = 1;
    Network network(config);
    send(network, 0, 1, at(0));
    EXPECT_EQ(network.wire(0).lane(PeerId{1}).claim(), nullptr);
    EXPECT_EQ(network.wire(0).next_deadline(), never);
    ASSERT_TRUE(network.wire(1).receive(at(200)));
    EXPECT_EQ(network.wire(0).next_deadline(), at(200));
    network.wire(0).flush(at(200));
    EXPECT_EQ(network.wire(0).next_deadline(), never) << "woken once, not for ever";
}

TEST(Network, PromisesWholeFramesOnlyWhileNoBitsFlip) {
    NetworkConfig config = quick(2);
    const LaneCapabilities vouched = Network(config).wire(0).lane(PeerId{1}).capabilities();
    EXPECT_EQ(vouched.frame_max, 64u);
    EXPECT_TRUE(vouched.carries_intact);
    EXPECT_FALSE(vouched.carries_all);
    config.flip_bits = true;
    EXPECT_FALSE(Network(config).wire(0).lane(PeerId{1}).capabilities().carries_intact);
}

// Everything that a run of random traffic does, as text.
std::string story(std::uint64_t seed, bool traced = true) {
    NetworkConfig config = quick(3);
    config.jitter = Duration::nanoseconds(40);
    config.faults = {
        .loss = 0.1, .bit_error = 1e-3, .duplicate = 0.1, .reorder = 0.1, .hold_max = 3};
    config.seed = seed;
    config.describe = name_all;
    Network network(config);
    Trace trace(1000);
    if (traced) network.record(&trace);
    Random traffic(9);
    std::string text;
    for (std::int64_t turn = 0; turn < 300; ++turn) {
        const std::size_t from = traffic.below(3);
        const std::size_t to = (from + 1 + traffic.below(2)) % 3;
        send(network, from, to, at(turn * 7), 1 + traffic.below(64));
        while (const auto frame = network.wire(to).receive(at(turn * 7))) {
            text += std::to_string(static_cast<unsigned>(frame->from)) + '>' + std::to_string(to) +
                    (frame->integrity == Integrity::damaged ? "!" : " ");
        }
    }
    if (!traced) return text;
    for (std::size_t i = 0; i < trace.events().size(); ++i) {
        const TraceEvent& event = trace.events()[i];
        text += '\n' + std::to_string(event.time.since_start().picoseconds()) + ' ' +
                std::string(event.frame.kind) + ' ' + std::to_string(event.from) +
                std::to_string(event.to) + ' ' + std::to_string(event.frame.length) +
                (event.fate.lost ? " lost" : "") + (event.fate.damaged ? " damaged" : "") +
                (event.fate.duplicated ? " twice" : "") + std::to_string(event.fate.held_behind);
    }
    return text;
}

TEST(Network, TheSameSeedGivesTheSameRunByteForByte) {
    EXPECT_EQ(story(1), story(1));
    EXPECT_NE(story(1), story(2));
}

TEST(Network, TracingChangesNothing) {
    const std::string untraced = story(1, false);
    EXPECT_EQ(story(1).substr(0, untraced.size()), untraced);
}

TEST(Network, TracesWhatIsSentWithItsFate) {
    NetworkConfig config = quick(2);
    config.describe = name_all;
    Network network(config);
    Trace trace(10);
    network.record(&trace);
    FaultRule rule;
    rule.kind = "DATA";
    rule.fate.duplicated = true;
    network.faults(0, 1).add_rule(rule);
    TxFrame* room = network.wire(0).lane(PeerId{1}).claim();
    room->add_room(5)[0] = std::byte{42};
    room->mark_resent();
    network.wire(0).lane(PeerId{1}).commit();
    network.wire(0).flush(at(3));
    ASSERT_EQ(trace.recorded(), 1u);
    const TraceEvent& event = trace.events().front();
    EXPECT_EQ(event.time, at(3));
    EXPECT_EQ(event.from, 0);
    EXPECT_EQ(event.to, 1);
    EXPECT_EQ(event.frame.number, 42u);
    EXPECT_EQ(event.frame.length, 5u);
    EXPECT_TRUE(event.resent);
    EXPECT_TRUE(event.fate.duplicated);
}

// A pair of nodes has two cables. The losses on one do not depend on the other.
TEST(Network, EachCableHasFatesOfItsOwn) {
    NetworkConfig config = quick(3);
    config.faults = {.loss = 0.5};
    Network network(config);
    const auto fates = [&network](std::size_t from, std::size_t to) {
        std::string text;
        for (int i = 0; i < 100; ++i) {
            const std::uint64_t lost = network.counts(from, to).lost;
            send(network, from, to, at(0));
            text += network.counts(from, to).lost > lost ? 'x' : '-';
        }
        return text;
    };
    std::set<std::string> all;
    for (std::size_t from = 0; from < 3; ++from) {
        for (std::size_t to = 0; to < 3; ++to) {
            if (from != to) all.insert(fates(from, to));
        }
    }
    EXPECT_EQ(all.size(), 6u);
}

TEST(Network, ACopyIsAWorldOfItsOwn) {
    Network network(quick(2));
    send(network, 0, 1, at(0));
    Network copy = network;
    EXPECT_EQ(senders(copy, 1, at(500)), "0");
    EXPECT_EQ(senders(copy, 1, at(500)), "");
    EXPECT_EQ(senders(network, 1, at(500)), "0");
    send(copy, 1, 0, at(500));
    EXPECT_EQ(network.wire(0).next_deadline(), never);
    network = copy;
    EXPECT_EQ(network.wire(0).next_deadline(), at(610));
}

}  // namespace
}  // namespace wireproof::sim
