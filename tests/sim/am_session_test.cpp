// Peers that are restarted or fall silent, and peers that only seem silent (AM-49, AM-50).
#include <gtest/gtest.h>

#include "tests/sim/am_script.hpp"

namespace wireproof {
namespace {

constexpr Duration session_timeout = Duration::milliseconds(20);
constexpr Duration timeout_margin = Duration::milliseconds(2);

// The nodes agree on a session by HELLO.
am::Config meeting_config() {
    am::Config config = model_config();
    config.cookie.reset();
    config.job = 99;
    config.keepalive_limit = 4;
    config.peer_timeout = session_timeout;
    return config;
}

constexpr Instant after_start(Duration passed) {
    return Instant(passed);
}

TEST(AmSession, ARestartedPeerGetsANewSessionAndTheOldOneIsReportedOnce) {
    lab::AmNet net(model_network(), meeting_config(), 1);
    Script script(net);
    std::array<std::size_t, 2> left{1000, 0};
    std::vector<std::byte> old_hello;
    bool alive = true;
    script.turn = [&](std::size_t node, Instant) {
        post_requests(net.at(node, 1 - node), answered_handler, left[node]);
        return never;
    };
    script.departed = [&](std::size_t node, std::size_t, const am::Header& header,
                          const TxFrame& frame) {
        if (node != 1 || header.kind != am::Kind::hello || !alive) return;
        old_hello.resize(frame.size());
        frame.gather(old_hello);
    };
    net.run(script, {.until = after_start(Duration::microseconds(100))});
    EXPECT_EQ(script.counts[0].sessions_begun, 1u);
    EXPECT_GT(script.counts[1].requests, 0u);
    EXPECT_LT(script.counts[1].requests, 1000u);
    ASSERT_FALSE(old_hello.empty());

    const std::size_t answered_before = script.counts[0].replies;
    alive = false;
    net.restart(1);
    left = {0, 5};  // the new life has something to say
    EXPECT_EQ(net.run(script, {.until = after_start(Duration::milliseconds(10))}).end,
              sim::RunEnd::idle);
    EXPECT_EQ(script.counts[0].sessions_ended, 1u);
    EXPECT_EQ(script.counts[0].why, am::SessionEnded::Why::restarted);
    EXPECT_EQ(script.counts[0].sessions_begun, 2u);
    EXPECT_EQ(script.counts[1].sessions_ended, 0u);  // the new life had no earlier session
    EXPECT_EQ(script.counts[1].replies, 5u);
    EXPECT_GT(script.counts[0].unknown, 0u);
    EXPECT_LE(script.counts[0].unknown, 75u);
    EXPECT_GE(script.counts[0].replies, answered_before);

    // A late HELLO of the old life ends no session.
    for (int i = 0; i < 3; ++i) {
        net.network().cable(1, 0).send(net.schedule().now(), old_hello);
        left[0] += 10;
        net.schedule().wake(0, net.schedule().now());
        net.run(script, {.until = net.schedule().now() + Duration::milliseconds(5)});
    }
    EXPECT_EQ(script.counts[0].sessions_ended, 1u);
    EXPECT_EQ(script.counts[1].sessions_ended, 0u);
    EXPECT_TRUE(net.at(0, 1).idle());
    EXPECT_EQ(left[0], 0u);
}

TEST(AmSession, ASilentPeerIsReportedOnceWithEveryUnfinishedMessageInOrder) {
    lab::AmNet net(model_network(), meeting_config(), 1);
    Script script(net);
    std::size_t left = 500;
    std::vector<std::uint64_t> fates;
    script.turn = [&](std::size_t node, Instant) {
        if (node == 0 && script.counts[0].sessions_ended == 0) {
            post_requests(net.at(0, 1), answered_handler, left);
        }
        return never;
    };
    Instant reported;
    script.delivered = [&](std::size_t node, std::size_t, const am::Delivery& delivery) {
        if (node != 0) return;
        if (std::holds_alternative<am::SessionEnded>(delivery)) reported = net.schedule().now();
        if (const auto* fate = std::get_if<am::FateUnknown>(&delivery)) {
            EXPECT_EQ(fate->what, am::FateUnknown::What::request);
            fates.push_back(load_le<std::uint64_t>(fate->arguments.first<8>()));
        }
    };
    net.run(script, {.until = after_start(Duration::microseconds(100))});
    const Instant cut = net.schedule().now();
    net.network().cut(0, 1);
    net.network().cut(1, 0);
    net.run(script, {.until = after_start(session_timeout * 4)});
    EXPECT_EQ(script.counts[0].sessions_ended, 1u);
    EXPECT_EQ(script.counts[0].why, am::SessionEnded::Why::silent);
    EXPECT_GE(reported + Duration::microseconds(20), cut + session_timeout);
    EXPECT_LE(reported, cut + session_timeout + Duration::microseconds(50));
    ASSERT_FALSE(fates.empty());
    // post_requests numbers the requests downwards.
    for (std::size_t i = 0; i < fates.size(); ++i) {
        EXPECT_EQ(fates[i], left + fates.size() - i);
    }
    EXPECT_GE(script.counts[1].requests + fates.size(), 500 - left);
    EXPECT_TRUE(net.at(0, 1).idle());
}

TEST(AmSession, AStalledPeerThatAnswersIsNeverReported) {
    am::Config config = meeting_config();
    config.reply_places = 4;
    lab::AmNet net(model_network(), config, 1);
    Script script(net);
    net.network().cable(1, 0).describe_with(am::describe_sp2);
    net.network().faults(1, 0).add_rule({.kind = "REP", .fate = {.lost = true}});
    std::size_t left = 300;
    script.turn = [&](std::size_t node, Instant) {
        if (node == 0) post_requests(net.at(0, 1), answered_handler, left);
        return never;
    };
    net.run(script, {.until = after_start(session_timeout * 10)});
    EXPECT_GT(net.at(1, 0).stats().received_as(RxVerdict::refused), 0u);
    EXPECT_LT(script.counts[1].requests, 300u);
    EXPECT_EQ(script.counts[0].sessions_ended + script.counts[1].sessions_ended, 0u);

    net.network().faults(1, 0) = FaultPlan();
    EXPECT_EQ(net.run(script, {.until = after_start(session_timeout * 20)}).end, sim::RunEnd::idle);
    EXPECT_EQ(script.counts[0].replies, 300u);
}

TEST(AmSession, APartitionShorterThanTheTimeoutHeals) {
    lab::AmNet net(model_network(), meeting_config(), 1);
    Script script(net);
    std::array<std::size_t, 2> left{2000, 2000};
    script.turn = [&](std::size_t node, Instant) {
        post_requests(net.at(node, 1 - node), answered_handler, left[node]);
        return never;
    };
    net.run(script, {.until = after_start(Duration::microseconds(150))});
    for (std::size_t node = 0; node < 2; ++node) net.network().cut(node, 1 - node);
    net.run(script,
            {.until = after_start(Duration::microseconds(150) + session_timeout - timeout_margin)});
    for (std::size_t node = 0; node < 2; ++node) net.network().mend(node, 1 - node);
    EXPECT_EQ(net.run(script, {.until = after_start(session_timeout * 5)}).end, sim::RunEnd::idle);
    for (std::size_t node = 0; node < 2; ++node) {
        EXPECT_EQ(script.counts[node].sessions_ended, 0u);
        EXPECT_EQ(script.counts[node].replies, 2000u);
    }
}

// Three nodes exchange requests, and the fourth may be dead. Returns the time at which the three
// are done.
Instant three_exchange(bool fourth_is_dead, std::size_t& reports) {
    lab::AmNet net(model_network(4), meeting_config(), 1);
    Script script(net);
    constexpr std::size_t each = 2000;
    std::array<std::array<std::size_t, 4>, 4> left{};
    for (auto& row : left) row.fill(each);
    if (fourth_is_dead) {
        for (std::size_t node = 0; node < 3; ++node) net.network().cut(3, node);
    }
    script.turn = [&](std::size_t node, Instant) {
        for (std::size_t peer = 0; peer < 4; ++peer) {
            if (peer == node || node == 3 || (peer == 3 && !fourth_is_dead)) continue;
            if (script.counts[node].sessions_ended > 0 && peer == 3) continue;
            post_requests(net.at(node, peer), answered_handler, left[node][peer]);
        }
        return never;
    };
    const auto done = [&] {
        for (std::size_t node = 0; node < 3; ++node) {
            if (script.counts[node].replies < 2 * each) return false;
        }
        return true;
    };
    net.run_until(script, done, {.until = after_start(session_timeout * 50)});
    EXPECT_TRUE(done());
    const Instant finished = net.schedule().now();
    net.run(script, {.until = after_start(session_timeout * 50)});
    for (std::size_t node = 0; node < 3; ++node) reports += script.counts[node].sessions_ended;
    return finished;
}

TEST(AmSession, ADeadPeerDoesNotSlowTheOthers) {
    std::size_t reports = 0;
    const Instant alone = three_exchange(false, reports);
    EXPECT_EQ(reports, 0u);
    const Instant beside_a_dead_one = three_exchange(true, reports);
    EXPECT_EQ(reports, 3u);
    EXPECT_LE(beside_a_dead_one.since_start().nanoseconds(),
              alone.since_start().nanoseconds() * 101 / 100);
}

}  // namespace
}  // namespace wireproof
