// The cost of recovery (rules, sections 6 and 10; AM-53). These tests are needed because a broken
// engine may also deliver everything, only with more packets.
#include <gtest/gtest.h>

#include "tests/sim/am_script.hpp"

namespace wireproof {
namespace {

constexpr std::uint64_t inbox_address = 0x10000;

struct Spent {
    am::Stats sender;
    am::Stats receiver;
    double cost() const { return cost_of(sender); }
};

// Requests of one word in one direction.
Spent requests(const sim::NetworkConfig& network, const am::Config& config, std::size_t count,
               Duration receiver_sleeps = {}) {
    lab::AmNet net(network, config, 1);
    Script script(net);
    std::size_t left = count;
    script.turn = [&](std::size_t node, Instant now) {
        if (node == 0) post_requests(net.at(0, 1), plain_handler, left);
        if (node == 1) net.schedule().pause(1, now + receiver_sleeps);
        return never;
    };
    const auto run = net.run(script, {.turns = 10'000'000});
    EXPECT_EQ(run.end, sim::RunEnd::idle);
    EXPECT_EQ(script.counts[1].requests, count);
    return {net.at(0, 1).stats(), net.at(1, 0).stats()};
}

// Stores of ten chunks, one after the other.
Spent stores(const sim::NetworkConfig& network, const am::Config& config, std::size_t count,
             const std::function<void(lab::AmNet&)>& prepare = {}) {
    lab::AmNet net(network, config, 1);
    if (prepare) prepare(net);
    Script script(net);
    std::vector<std::byte> source(10 * config.chunk_bytes(), std::byte{0x3C});
    std::vector<std::byte> inbox(source.size());
    EXPECT_TRUE(net.memory(1, 0).add(inbox_address, inbox, {.write = true}));
    std::size_t left = count;
    script.turn = [&](std::size_t node, Instant) {
        const am::Connection::Store store{
            .address = inbox_address, .source = source, .handler = store_handler};
        if (node == 0 && left > 0 && net.at(0, 1).store(store) == am::PostStatus::accepted) --left;
        return never;
    };
    const auto run = net.run(script, {.turns = 10'000'000});
    EXPECT_EQ(run.end, sim::RunEnd::idle);
    EXPECT_EQ(script.counts[1].stored, count);
    EXPECT_EQ(inbox, source);
    return {net.at(0, 1).stats(), net.at(1, 0).stats()};
}

sim::NetworkConfig with(FaultRates faults) {
    sim::NetworkConfig network = model_network();
    network.faults = faults;
    return network;
}

TEST(AmCost, RepeatedShortsCauseNoResend) {
    const Spent spent = requests(with({.duplicate = 0.05}), model_config(), 20'000);
    EXPECT_GT(spent.receiver.received_as(RxVerdict::duplicate), 800u);
    EXPECT_EQ(spent.sender.resent, 0u);
}

TEST(AmCost, AHundredthOfLossCostsStoresAtMostHalfAgain) {
    const Spent spent = stores(with({.loss = 0.01}), model_config(), 20);
    EXPECT_LE(spent.cost(), 1.5);
    EXPECT_GT(spent.cost(), 1.01);
}

TEST(AmCost, SelectiveRecoveryResendsWhatWasLost) {
    am::Config config = model_config();
    config.recovery = am::Recovery::selective;
    config.held_packets = 64;
    EXPECT_LE(stores(with({.loss = 0.01}), config, 20).cost(), 1.02);
    EXPECT_LE(requests(with({.loss = 0.05}), config, 20'000).cost(), 1.08);
}

// A packet that others overtake is a gap. Each gap wastes the 22 packets of a round trip, so a
// share g of gaps costs 1 + 22 g / (1 - g) sends for each packet. Inside a chunk the order does not
// matter. A late packet is a gap only if the next chunk overtakes it.
TEST(AmCost, DisorderCostsGoBackNARoundTripForEachGap) {
    const auto displaced = [](double share) {
        sim::NetworkConfig network = with({.reorder = share, .hold_max = 3});
        network.bytes_per_second = 48'000'000;  // a short message takes a tick of the model
        return requests(network, model_config(), 20'000).cost();
    };
    EXPECT_LE(displaced(0.01), 1.25);
    EXPECT_LE(displaced(0.20), 5.6);
    const Spent bulk = stores(with({.reorder = 0.20, .hold_max = 3}), model_config(), 20);
    EXPECT_LE(bulk.cost(), 1.3);
}

// The receiver sends one NACK for all gaps that it finds in one turn (AM-39).
TEST(AmCost, AReceiverThatSeldomPollsSharesItsNacks) {
    sim::NetworkConfig network = with({.loss = 0.01});
    network.in_flight_max = 200;
    const Spent spent = requests(network, model_config(), 20'000, Duration::microseconds(60));
    EXPECT_LE(spent.cost(), 2.0);
    EXPECT_LE(spent.receiver.sent_of(am::Kind::nack), spent.receiver.sent_of(am::Kind::ack) + 400);
}

TEST(AmCost, OneGapHasOneResendHoweverManyNacksItDraws) {
    for (const char* kind : {"CHUNK", "OPEN"}) {
        const Spent spent = stores(model_network(), model_config(), 1, [&](lab::AmNet& net) {
            net.network().cable(0, 1).describe_with(am::describe_sp2);
            net.network().faults(0, 1).add_rule(
                {.kind = kind, .nth_first = 1, .nth_last = 1, .fate = {.lost = true}});
        });
        EXPECT_EQ(spent.sender.nacks_acted_on, 1u) << kind;
        EXPECT_LE(spent.sender.resent, 75u) << kind;
        EXPECT_EQ(spent.sender.keepalive_timeouts, 0u) << kind;
    }
}

// AM-5, AM-13: without loss, no packet is sent twice and each chunk is acknowledged once.
TEST(AmCost, APerfectWireCarriesNothingTwice) {
    const Spent bulk = stores(model_network(), model_config(), 5);
    EXPECT_EQ(bulk.cost(), 1.0);
    EXPECT_EQ(bulk.receiver.sent_of(am::Kind::ack), 50u);
    const Spent shorts = requests(model_network(), model_config(), 1800);
    EXPECT_EQ(shorts.cost(), 1.0);
    EXPECT_EQ(shorts.receiver.sent_of(am::Kind::ack), 100u);
}

}  // namespace
}  // namespace wireproof
