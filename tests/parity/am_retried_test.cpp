// SP AM over PCI Express. The cable below loses and damages frames. The link repairs this, and SP
// AM does not notice it.
#include <gtest/gtest.h>

#include "tests/parity/am_conversation.hpp"
#include "tests/parity/retried_roads.hpp"

namespace wireproof::parity {
namespace {

using am::Config;
using am::HandlerId;
using am::Kind;
using am::PostStatus;

constexpr std::uint32_t messages = 300;
// Deliveries at each end: the requests and replies, and four more. These are the begin of the
// session, the store of the peer, and the reply to and the end of this end's own store.
constexpr std::size_t heard = 2 * messages + 4;

/// Without keep-alives, so SP AM cannot repair a frame that the link does not deliver.
Config carried(Config config) {
    config = small(config);
    config.keepalive_after = config.keepalive_max = Duration::milliseconds(1'000'000);
    config.ack_after = {};
    config.probe_after = {};
    config.peer_timeout = Duration::milliseconds(10'000'000);
    return config;
}

template <class Road>
void exchange(Conversation<Road>& talk) {
    constexpr auto base = Conversation<Road>::base;
    constexpr std::size_t half = Conversation<Road>::memory_size / 2;
    std::array<std::vector<std::byte>, 2> sources{am::test::pattern(half, 1),
                                                  am::test::pattern(half, 2)};
    for (std::size_t node = 0; node < 2; ++node) {
        ASSERT_EQ(talk.ends[node].engine.store({base, sources[node], HandlerId(9), 7, 1}),
                  PostStatus::accepted);
    }
    std::array<std::uint32_t, 2> posted{};
    ASSERT_TRUE(talk.run([&] {
        for (std::size_t node = 0; node < 2; ++node) {
            while (posted[node] < messages &&
                   talk.request(node, 1, {posted[node]}) == PostStatus::accepted) {
                ++posted[node];
            }
        }
        return talk.ends[0].log.size() >= heard && talk.ends[1].log.size() >= heard;
    }));
    for (std::size_t node = 0; node < 2; ++node) {
        const auto& end = talk.ends[node];
        EXPECT_TRUE(am::test::same(ConstBytes(end.memory).first(half), sources[1 - node]));
        std::uint32_t requests = 0;
        std::uint32_t replies = 0;
        for (const std::string& line : end.log) {
            if (line == "REQ 1(" + std::to_string(requests) + ")") ++requests;
            if (line == "REP 2(" + std::to_string(replies) + ")") ++replies;
        }
        EXPECT_EQ(end.log.size(), heard);
        EXPECT_EQ(requests, messages);
        EXPECT_EQ(replies, messages);
    }
}

/// Checks that SP AM did not recover anything and that the link did.
template <class Road>
void check_who_recovered(Conversation<Road>& talk) {
    for (std::size_t node = 0; node < 2; ++node) {
        const am::Stats& stats = talk.ends[node].engine.stats();
        EXPECT_EQ(stats.sessions, 1U);
        EXPECT_EQ(stats.resent, 0U);
        EXPECT_EQ(stats.sent_of(Kind::nack), 0U);
        EXPECT_EQ(stats.sent_of(Kind::keepalive), 0U);
        EXPECT_EQ(stats.nacks_acted_on, 0U);
        EXPECT_EQ(stats.keepalive_timeouts, 0U);
        EXPECT_EQ(talk.received(node), talk.received_as(node, RxVerdict::accepted) +
                                           talk.received_as(node, RxVerdict::control));
        const pcie::Stats& link = talk.road.link_stats(node);
        EXPECT_GT(link.resent, 10U) << "the faults did nothing";
        EXPECT_GT(link.received_as(RxVerdict::corrupt), 0U);
        EXPECT_EQ(link.protocol_errors, 0U);
        EXPECT_EQ(link.resets, link.retrains) << "the link went down";
    }
}

template <class Road>
void run(const Config& config, const FaultRates& rates) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        RoadFaults faults;
        faults.rates = rates;
        faults.seed = seed;
        Conversation<Road> talk(config, faults);
        exchange(talk);
        check_who_recovered(talk);
        if (testing::Test::HasFailure()) FAIL() << "seed " << seed;
    }
}

constexpr FaultRates lossy = {.loss = 0.05, .bit_error = 1e-5};

TEST(AmRetried, SeesNothingOfACableThatLosesAndDamages) {
    run<Retried<Faulty<MemoryRoad>>>(carried(Config::sp2()), lossy);
    run<Retried<Faulty<MemoryRoad>>>(carried(Config::ethernet(1052)), lossy);
}

// PCIE-39
TEST(AmRetried, SeesNothingOfANetworkThatRepeatsAndReordersToo) {
    FaultRates rates = lossy;
    rates.duplicate = rates.reorder = 0.05;
    run<Retried<Sequenced<Faulty<MemoryRoad>>>>(carried(Config::sp2()), rates);
    run<Retried<Sequenced<Faulty<MemoryRoad>>>>(carried(Config::ethernet(1052)), rates);
    run<Retried<Sequenced<SimulatedCable>>>(carried(Config::ethernet(1052)), rates);
}

}  // namespace
}  // namespace wireproof::parity
