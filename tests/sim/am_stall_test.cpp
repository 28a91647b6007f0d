// Full windows, full reply queues and few slots must not lead to a deadlock (AM-24, AM-43 to
// AM-46).
#include <gtest/gtest.h>

#include <map>

#include "tests/sim/am_script.hpp"

namespace wireproof {
namespace {

constexpr std::uint64_t address = 0x10000;
constexpr sim::RunLimits long_enough{.until = Instant(Duration::milliseconds(500)),
                                     .turns = 10'000'000};

TEST(AmStall, RepliesFlowWhileBothRequestWindowsAreFull) {  // AM-24
    lab::AmNet net(model_network(), model_config(), 1);
    Script script(net);
    std::array<std::size_t, 2> left{2000, 2000};
    std::array<std::size_t, 2> replies_to_a_full_window{};
    script.turn = [&](std::size_t node, Instant) {
        post_requests(net.at(node, 1 - node), answered_handler, left[node]);
        return never;
    };
    script.delivered = [&](std::size_t node, std::size_t, const am::Delivery& delivery) {
        const bool still_full = left[node] > 0;  // since the last turn
        if (std::holds_alternative<am::Reply>(delivery) && still_full) {
            ++replies_to_a_full_window[node];
        }
    };
    EXPECT_EQ(net.run(script, long_enough).end, sim::RunEnd::idle);
    for (std::size_t node = 0; node < 2; ++node) {
        EXPECT_EQ(script.counts[node].replies, 2000u);
        EXPECT_GT(replies_to_a_full_window[node], 1500u);
    }
}

// AM-43: few places for replies, a reply window that is always full, and requests in both
// directions.
TEST(AmStall, BothReplyWindowsFullAndBothRequestChannelsStalledEnd) {
    for (const auto recovery : {am::Recovery::go_back_n, am::Recovery::selective}) {
        am::Config config = model_config();
        config.recovery = recovery;
        config.held_packets = 8;
        config.chunk_packets = 2;
        config.window = {75, 2};
        config.reply_places = 2;
        lab::AmNet net(model_network(), config, 1);
        Script script(net);
        std::array<std::size_t, 2> left{500, 500};
        script.turn = [&](std::size_t node, Instant) {
            post_requests(net.at(node, 1 - node), answered_handler, left[node]);
            return never;
        };
        EXPECT_EQ(net.run(script, long_enough).end, sim::RunEnd::idle);
        for (std::size_t node = 0; node < 2; ++node) {
            EXPECT_EQ(script.counts[node].requests, 500u);
            EXPECT_EQ(script.counts[node].replies, 500u);
            if (recovery == am::Recovery::go_back_n) {
                EXPECT_GT(net.at(node, 1 - node).stats().received_as(RxVerdict::refused), 0u);
            }
        }
    }
}

// AM-10, AM-42: while the receiver has no room, it sends a NACK only as the answer to a KEEPALIVE,
// also if packets arrive ahead of the expected one.
TEST(AmStall, AStalledChannelDoesNotComplainOfPacketsAhead) {
    for (const auto recovery : {am::Recovery::go_back_n, am::Recovery::selective}) {
        am::Config config = model_config();
        config.recovery = recovery;
        config.held_packets = 0;
        config.message_max = 160;
        config.reply_places = 4;
        lab::AmNet net(model_network(), config, 1);
        Script script(net);
        net.network().cable(1, 0).describe_with(am::describe_sp2);
        net.network().faults(1, 0).add_rule({.kind = "REP", .fate = {.lost = true}});
        const std::vector<std::byte> many_words(160);  // cannot be held: no places
        std::size_t left = 600;
        script.turn = [&](std::size_t node, Instant) {
            while (node == 0 && left > 0 &&
                   net.at(0, 1).request(left % 3 == 0 ? answered_handler : plain_handler,
                                        left % 2 == 0 ? ConstBytes(many_words) : ConstBytes()) ==
                       am::PostStatus::accepted) {
                --left;
            }
            return never;
        };
        net.run(script, {.until = Instant(Duration::milliseconds(30))});
        EXPECT_GT(left, 0u);
        const am::Stats& asking = net.at(0, 1).stats();
        const am::Stats& stalled = net.at(1, 0).stats();
        EXPECT_LE(stalled.sent_of(am::Kind::nack), asking.sent_of(am::Kind::keepalive) + 1);
        EXPECT_GT(stalled.sent_of(am::Kind::nack), 3u);
    }
}

// AM-42: the receiver reports the end of a stall at once with one NACK. The sender does not wait
// until it sends a keep-alive.
TEST(AmStall, TheEndOfAStallFetchesWhatWasRefused) {
    for (const auto recovery : {am::Recovery::go_back_n, am::Recovery::selective}) {
        am::Config config = model_config();
        config.recovery = recovery;
        config.held_packets = 8;
        config.chunk_packets = 2;
        config.window = {75, 4};
        config.reply_places = 1;
        config.keepalive_after = config.keepalive_max = Duration::milliseconds(50);
        lab::AmNet net(model_network(), config, 1);
        Script script(net);
        std::size_t left = 200;
        script.turn = [&](std::size_t node, Instant) {
            if (node == 0) post_requests(net.at(0, 1), answered_handler, left);
            return never;
        };
        EXPECT_EQ(net.run(script, long_enough).end, sim::RunEnd::idle);
        EXPECT_EQ(script.counts[0].replies, 200u);
        EXPECT_LE(net.at(0, 1).stats().keepalive_timeouts, 1u);
        EXPECT_LE(script.counts[0].last, Instant(Duration::milliseconds(20)));
    }
}

TEST(AmStall, NodesThatGetFromEachOtherWithOneSlotFinish) {  // AM-44
    am::Config config = model_config();
    config.get_slots = 1;
    lab::AmNet net(model_network(), config, 1);
    Script script(net);
    constexpr std::size_t gets = 6;
    const std::size_t bytes = 3 * config.chunk_bytes() + 100;
    std::array<std::vector<std::byte>, 2> shelf;
    std::array<std::vector<std::byte>, 2> landing;
    std::array<std::size_t, 2> posted{};
    for (std::size_t node = 0; node < 2; ++node) {
        shelf[node].assign(bytes, std::byte(node + 1));
        landing[node].resize(gets * bytes);
        ASSERT_TRUE(net.memory(node, 1 - node).add(address, shelf[node], {.read = true}));
    }
    script.turn = [&](std::size_t node, Instant) {
        for (; posted[node] < gets; ++posted[node]) {
            const Bytes destination = Bytes(landing[node]).subspan(posted[node] * bytes, bytes);
            const auto status =
                net.at(node, 1 - node).get({.address = address, .destination = destination});
            if (status != am::PostStatus::accepted) break;
        }
        return never;
    };
    EXPECT_EQ(net.run(script, long_enough).end, sim::RunEnd::idle);
    for (std::size_t node = 0; node < 2; ++node) {
        EXPECT_EQ(script.counts[node].gets_ended, gets);
        EXPECT_EQ(landing[node], std::vector<std::byte>(gets * bytes, std::byte(2 - node)));
    }
}

// AM-45. In the model the store took 1,159 ticks with this rule, and 38,527 ticks without it.
TEST(AmStall, AStoreBehindEndlessShortMessagesTakesItsTurn) {
    sim::NetworkConfig network = model_network();
    network.latency = Duration::microseconds(59);  // a round trip of 120 packets
    network.in_flight_max = 75;
    lab::AmNet net(network, model_config(), 1);
    Script script(net);
    const std::vector<std::byte> source(10 * model_config().chunk_bytes(), std::byte{9});
    std::vector<std::byte> inbox(source.size());
    ASSERT_TRUE(net.memory(1, 0).add(address, inbox, {.write = true}));
    std::size_t left = 20'000;
    bool begun = false;
    script.turn = [&](std::size_t node, Instant) {
        if (node != 0) return never;
        if (left < 19'900 && !begun) {
            begun = net.at(0, 1).store(
                        {.address = address, .source = source, .handler = store_handler}) ==
                    am::PostStatus::accepted;
            if (!begun) return never;
        }
        post_requests(net.at(0, 1), plain_handler, left);
        return never;
    };
    Instant stored;
    std::size_t requests_before = 0;
    script.delivered = [&](std::size_t node, std::size_t, const am::Delivery& delivery) {
        if (!std::holds_alternative<am::Stored>(delivery)) return;
        stored = net.schedule().now();
        requests_before = script.counts[node].requests;
    };
    EXPECT_EQ(net.run(script, long_enough).end, sim::RunEnd::idle);
    EXPECT_EQ(script.counts[1].stored, 1u);
    EXPECT_EQ(script.counts[1].requests, 20'000u);
    EXPECT_LE(stored, Instant(Duration::microseconds(2500)));
    EXPECT_LE(requests_before, 2000u);
}

// AM-6, AM-7, AM-46, as seen on the wire: an acknowledgement counts from the time when it leaves
// the receiver.
TEST(AmStall, TwoTransfersAtOnceShareTheWindowAndKeepToTwoChunksEach) {
    sim::NetworkConfig network = model_network();
    network.faults = {.loss = 0.01};
    const am::Config config = model_config();
    lab::AmNet net(network, config, 1);
    Script script(net);
    const std::vector<std::byte> source(8 * config.chunk_bytes(), std::byte{9});
    std::array<std::vector<std::byte>, 2> inbox;
    for (std::size_t i = 0; i < 2; ++i) {
        inbox[i].resize(source.size());
        ASSERT_TRUE(net.memory(1, 0).add(address << i, inbox[i], {.write = true}));
    }
    std::size_t posted = 0;
    script.turn = [&](std::size_t node, Instant) {
        for (; node == 0 && posted < 2; ++posted) {
            EXPECT_EQ(net.at(0, 1).store({.address = address << posted,
                                          .source = source,
                                          .handler = store_handler,
                                          .tag = posted}),
                      am::PostStatus::accepted);
        }
        return never;
    };
    const Circle circle(config.modulus);
    const am::Number first(config.first_number[0]);
    std::uint32_t acknowledged = 0;  // packets; the numbers do not wrap twice
    std::map<std::uint32_t, std::map<std::uint32_t, std::uint32_t>> chunks;  // id: begin: end
    std::size_t most_chunks = 0;
    script.departed = [&](std::size_t node, std::size_t, const am::Header& header, const TxFrame&) {
        if (node == 1) {
            acknowledged =
                std::max(acknowledged, circle.steps_after(am::Number(header.ack[0]), first));
            return;
        }
        if (header.kind != am::Kind::chunk) return;
        const std::uint32_t begin = circle.steps_after(am::Number(header.number), first);
        chunks[header.id][begin] = begin + header.count;
        std::size_t all = 0;
        for (auto& [id, mine] : chunks) {
            std::erase_if(mine, [&](const auto& chunk) { return chunk.second <= acknowledged; });
            all += mine.size();
        }
        EXPECT_LE(begin + header.count, acknowledged + 75);
        most_chunks = std::max(most_chunks, all);
    };
    EXPECT_EQ(net.run(script, long_enough).end, sim::RunEnd::idle);
    EXPECT_EQ(script.counts[1].stored, 2u);
    EXPECT_EQ(script.counts[0].stores_ended, 2u);
    EXPECT_EQ(inbox[0], source);
    EXPECT_EQ(inbox[1], source);
    EXPECT_EQ(most_chunks, 2u);
}

}  // namespace
}  // namespace wireproof
