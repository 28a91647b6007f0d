// Tests the adapter as a wire: the cost of calls, when packets are seen, routes, faults, the shared
// link.
#include "wireproof/sim/sp2/adapter.hpp"

#include <gtest/gtest.h>

#include "wireproof/sim/run.hpp"
#include "wireproof/sim/sp2/test_machine.hpp"

namespace wireproof::sp2 {
namespace {

constexpr Costs costs;

FaultRule nth(std::uint64_t n, Fate fate) {
    FaultRule rule;
    rule.nth_first = rule.nth_last = n;
    rule.fate = fate;
    return rule;
}

unsigned route_in_byte_4(ConstBytes packet) {
    return std::to_integer<unsigned>(packet[4]);
}

TEST(Sp2Adapter, PromisesWholePacketsButNotAll) {
    Machine machine(Config{});
    const LaneCapabilities capabilities = machine.wire(0).lane(PeerId{1}).capabilities();
    EXPECT_EQ(capabilities.frame_max, 256u);
    EXPECT_TRUE(capabilities.carries_intact);
    EXPECT_FALSE(capabilities.carries_all);
}

TEST(Sp2Adapter, APacketIsSeenOnlyByAPollMadeAfterItArrived) {
    Machine machine(Config{});
    Adapter& receiver = machine.wire(1);
    ASSERT_TRUE(send_packet(machine, 0, 1, 7, 36));
    const Instant visible = receiver.next_deadline();
    EXPECT_FALSE(receiver.receive(visible + Duration(-1)));
    EXPECT_EQ(machine.host(1).now(), visible + Duration(-1) + costs.poll_empty);
    const auto frame = receiver.receive(Instant());
    ASSERT_TRUE(frame) << "the host is later than the call's now";
    EXPECT_EQ(frame->integrity, Integrity::intact);
    EXPECT_EQ(machine.host(1).now(), visible + Duration(-1) + costs.poll_empty + costs.read(36));
    EXPECT_EQ(receiver.counts().empty_polls, 1u);
}

TEST(Sp2Adapter, RoomIsInTheEntryItselfAndPayloadIsBroughtThere) {
    Machine machine(Config{});
    AdapterLane& lane = machine.wire(0).lane(PeerId{1});
    TxFrame* room = lane.claim();
    const std::vector<std::byte> payload(10, std::byte{'p'});
    room->add_room(2)[0] = std::byte{'h'};
    room->add_payload(payload);
    room->add_room(1)[0] = std::byte{'t'};
    lane.commit();
    machine.wire(0).flush(Instant());
    const auto frame = machine.wire(1).receive(machine.wire(1).next_deadline());
    ASSERT_EQ(frame->bytes.size(), 13u);
    EXPECT_EQ(frame->bytes[0], std::byte{'h'});
    EXPECT_EQ(frame->bytes[2], std::byte{'p'});
    EXPECT_EQ(frame->bytes[11], std::byte{'p'});
    EXPECT_EQ(frame->bytes[12], std::byte{'t'});
}

TEST(Sp2Adapter, LanesShareTheFifoInOrderOfCommit) {
    Machine machine(Config{.nodes = 3, .costs = quick_host()});
    EXPECT_EQ(machine.wire(0).lane(PeerId{1}).claim()->frame_max(), 256u);
    for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(commit_packet(machine, 0, 1 + i % 2, i));
    const Instant first = machine.wire(1).next_deadline();
    EXPECT_EQ(machine.wire(2).next_deadline(), first + costs.on_link(256));
    EXPECT_EQ(drain(machine, 1), "0:0 0:2");
    EXPECT_EQ(drain(machine, 2), "0:1 0:3");
}

TEST(Sp2Adapter, OneRouteKeepsOrderAndASlowerRouteIsOvertaken) {
    Config config;
    config.route_of = route_in_byte_4;
    config.route_delays[1] = Duration::microseconds(30);
    Machine machine(config);
    for (std::uint32_t i = 0; i < 4; ++i) {
        ASSERT_TRUE(send_packet(machine, 0, 1, i, 64, i < 2 ? 1 : i == 2 ? 0 : 4));
    }
    EXPECT_EQ(drain(machine, 1), "0:2 0:3 0:0 0:1") << "route 4 is route 0";
}

TEST(Sp2Adapter, TheLinkOutOfTheSwitchIsSharedByAllSenders) {
    Machine machine(Config{.nodes = 8, .costs = quick_host()});
    for (std::uint32_t i = 0; i < 8; ++i) {
        for (std::size_t from = 7; from > 0; --from) ASSERT_TRUE(send_packet(machine, from, 0, i));
    }
    const Instant first = machine.wire(0).next_deadline();
    const std::string order = drain(machine, 0);
    EXPECT_EQ(order.substr(0, 27), "1:0 2:0 3:0 4:0 5:0 6:0 7:0") << "ties by node number";
    EXPECT_EQ(machine.host(0).now() - first, costs.on_link(256) * 55);
}

// Short packets come faster than the adapter stores them.
TEST(Sp2Adapter, TheAdapterStoresOnePacketAfterTheOther) {
    Machine machine(Config{.nodes = 3, .costs = quick_host()});
    ASSERT_LT(costs.on_link(36), costs.receive_occupancy);
    for (const std::size_t from : {1u, 2u}) ASSERT_TRUE(send_packet(machine, from, 0, 7, 36));
    Adapter& receiver = machine.wire(0);
    const Instant first = receiver.next_deadline();
    ASSERT_TRUE(receiver.receive(first));
    EXPECT_EQ(receiver.next_deadline(), first + costs.receive_occupancy);
}

TEST(Sp2Adapter, TheSwitchLosesRepeatsAndDamagesByPlanAndDamageIsNeverSeen) {
    Machine machine(Config{});
    machine.faults(0, 1).add_rule(nth(1, {.lost = true}));
    machine.faults(0, 1).add_rule(nth(2, {.damaged = true}));
    machine.faults(0, 1).add_rule(nth(3, {.duplicated = true}));
    machine.faults(0, 1).add_rule(nth(4, {.held_behind = 1}));
    for (std::uint32_t i = 1; i <= 6; ++i) ASSERT_TRUE(send_packet(machine, 0, 1, i));
    EXPECT_EQ(drain(machine, 1), "0:3 0:3 0:5 0:4 0:6");
    EXPECT_EQ(machine.wire(1).counts().crc_drops, 1u);
    EXPECT_EQ(machine.fabric().counts(0, 1).lost, 1u);
}

TEST(Sp2Adapter, AFullSendFifoWakesItsNodeOnceWhenThereIsRoom) {
    Machine machine(Config{.costs = quick_host(), .send_entries = 4});
    Adapter& sender = machine.wire(0);
    for (std::uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(commit_packet(machine, 0, 1, i));
    EXPECT_EQ(sender.next_deadline(), never);
    EXPECT_FALSE(send_packet(machine, 0, 1, 4));
    EXPECT_EQ(sender.next_deadline(), Instant() + costs.send_occupancy);
    sender.flush(sender.next_deadline());
    EXPECT_EQ(sender.next_deadline(), never) << "nobody claimed again";
    EXPECT_TRUE(send_packet(machine, 0, 1, 4));
}

TEST(Sp2Adapter, LooksForFreeEntriesHalfARingAtATime) {
    Machine machine(Config{.lazy_pop = 1});
    for (std::uint32_t i = 0; i < 128 + 64 * 4; ++i) {
        ASSERT_TRUE(send_packet(machine, 0, 1, i, 36));
        machine.host(0).spend(Duration::microseconds(20));
    }
    EXPECT_EQ(machine.wire(0).counts().length_reads, 4u);
}

// Every node sends to every other node over a bad switch. Returns what each node sees and when, as
// text.
std::string story(std::uint64_t seed) {
    Config config{.nodes = 8, .lazy_pop = 7};
    config.faults = {.loss = 0.05, .bit_error = 1e-5, .duplicate = 0.05, .reorder = 0.05};
    config.seed = seed;
    Machine machine(config);
    sim::Schedule schedule(8);
    std::vector<std::uint32_t> sent(8, 0);
    std::string text;
    const auto step = [&](std::size_t node, Instant now) {
        while (const auto frame = machine.wire(node).receive(now)) {
            const auto number = number_of(frame->bytes);
            text += std::to_string(node) + '<' +
                    std::to_string(static_cast<unsigned>(frame->from)) + ':' +
                    (number ? std::to_string(*number) : "garbled") + '@' +
                    std::to_string(machine.host(node).now().since_start().picoseconds()) + '\n';
        }
        if (sent[node] == 50) return never;
        send_packet(machine, node, (node + 1 + sent[node] % 7) % 8, sent[node]);
        ++sent[node];
        return machine.host(node).now() + Duration::microseconds(3);
    };
    const sim::RunResult result = sim::run(machine, schedule, step, [] { return false; });
    EXPECT_EQ(result.end, sim::RunEnd::idle);
    return text;
}

TEST(Sp2Machine, TheSameSeedGivesTheSameRunByteForByte) {
    const std::string told = story(1);
    EXPECT_GT(told.size(), 4000u);
    EXPECT_EQ(told.find("garbled"), std::string::npos);
    EXPECT_EQ(told, story(1));
    EXPECT_NE(told, story(2));
}

TEST(Sp2Config, RefusesWhatWouldNotBeThisHardware) {
    EXPECT_TRUE(Config{}.check());
    EXPECT_TRUE((Config{.lazy_pop = 63}).check());
    EXPECT_FALSE((Config{.lazy_pop = 64}).check());
    EXPECT_TRUE((Config{.nodes = 3, .lazy_pop = 64}).check()) << "two peers, 128 entries";
    EXPECT_FALSE((Config{.nodes = 3, .active_peers = 1, .lazy_pop = 64}).check());
    EXPECT_FALSE((Config{.lazy_pop = 0}).check());
    EXPECT_FALSE((Config{.nodes = 1}).check());
    EXPECT_FALSE((Config{.lengths_per_access = 0}).check());
    Config slow;
    slow.costs.receive_occupancy = Duration::nanoseconds(6'400);
    EXPECT_FALSE(slow.check()) << "the link must be the bottleneck";
}

}  // namespace
}  // namespace wireproof::sp2
