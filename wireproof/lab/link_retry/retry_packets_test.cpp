// Packets of hosts: closed forms that a short run confirms, lengths, timers, and settings that are
// refused.
#include <gtest/gtest.h>

#include "wireproof/lab/link_retry/retry_test_kit.hpp"

namespace wireproof::lab {
namespace {

using namespace test;

// If a NACK is lost, another NACK follows it.
TEST(RetryPackets, ALostNackOfSpAmCostsAPacketAndNoTimeout) {
    RetrySettings settings{.protocol = RetryProtocol::sp_am, .payload = 224};
    settings.clean_back = true;
    settings.notice_loss = 0.5;
    const RetryPoint point = run(with_unit_error(settings, 0.02), 100'000);
    EXPECT_TRUE(agrees(point));
    EXPECT_EQ(count(point, RetryCount::timeouts), 0U);
    FailureCosts none = point.link.costs;
    none.notice_loss = 0;
    EXPECT_GT(away_from(point, point.link.scheme, none), 4);
}

// Scheme (0): only a window whose last packet is bad waits for a timer.
TEST(RetryPackets, SelectiveRecoveryOfSpAmResendsWhatWasBadAndNothingElse) {
    for (const double p : {0.001, 0.1, 0.3}) {
        const RetrySettings settings{.protocol = RetryProtocol::sp_am_selective, .payload = 1024};
        const RetryPoint point = run(with_unit_error(settings, p), 60'000);
        EXPECT_TRUE(agrees(point)) << p;
        // The packets that were bad last may not have been resent yet.
        EXPECT_NEAR(static_cast<double>(count(point, RetryCount::resent)),
                    static_cast<double>(count(point, RetryCount::wasted)), 20);
        EXPECT_GT(point.latency[3], point.latency[0]);
    }
}

TEST(RetryPackets, UnitsAreAsLongAsOnTheirLines) {
    const auto overhead = [](RetryProtocol protocol, std::uint32_t payload) {
        return resolve({.protocol = protocol, .payload = payload})->unit.overhead;
    };
    EXPECT_EQ(overhead(RetryProtocol::sp_am, 224), 32);               // a packet of 256 bytes
    EXPECT_EQ(overhead(RetryProtocol::sp_am_selective, 1'424), 114);  // a full frame has 1538 bytes
    EXPECT_EQ(overhead(RetryProtocol::rc, 4'096), 8 + 12 + 16 + 4 + 2);
    EXPECT_EQ(overhead(RetryProtocol::uc, 4'096), 8 + 12 + 16 + 4 + 2);
    EXPECT_EQ(overhead(RetryProtocol::uc, 4'093), 8 + 12 + 16 + 3 + 4 + 2);
    for (const auto protocol : {RetryProtocol::sp_am, RetryProtocol::sp_am_selective,
                                RetryProtocol::rc, RetryProtocol::uc}) {
        const RetryPoint point = run({.protocol = protocol, .payload = 1001}, 4'000);
        EXPECT_EQ(
            count(point, RetryCount::bytes_forward),
            count(point, RetryCount::units) * static_cast<std::uint64_t>(point.link.unit.bytes()))
            << name_of(protocol);
        EXPECT_NEAR(point.throughput(), point.link.unit.efficiency(), 1e-3) << name_of(protocol);
    }
}

TEST(RetryPackets, RcRoundsItsTimerUpToATimeoutOfTheSpecification) {
    const auto timer = [](std::uint64_t wanted) {
        return resolve({.protocol = RetryProtocol::rc, .payload = 256, .timer = wanted})->timer;
    };
    EXPECT_EQ(timer(5'000), 8'192U);
    EXPECT_EQ(timer(8'192), 8'192U);
    EXPECT_EQ(timer(8'193), 16'384U);
}

TEST(RetryPackets, RefuseWhatTheyDoNotHave) {
    const auto refused = [](RetrySettings settings, RetryProtocol protocol) {
        settings.protocol = protocol;
        const auto link = resolve(settings);
        return link ? std::string() : link.error().message;
    };
    using enum RetryProtocol;
    for (const RetryProtocol protocol : {sp_am, sp_am_selective, rc, uc}) {
        EXPECT_EQ(refused({}, protocol), "");
        EXPECT_NE(refused({.buffer = 2'048}, protocol), "");
        EXPECT_NE(refused({.ack_every = 8}, protocol), "");
        EXPECT_NE(refused({.renak_on_bad_head = true}, protocol), "");
    }
    EXPECT_NE(refused({.payload = 4'097}, rc), "");
    EXPECT_NE(refused({.payload = 4'097}, uc), "");
    EXPECT_EQ(refused({.payload = 8'192}, sp_am), "");
    EXPECT_NE(refused({.timer = 6'000}, sp_am), "");
    EXPECT_NE(refused({.loop = 20'000, .timer = 16'384}, rc), "");
    EXPECT_NE(refused({.timer = 50'000}, uc), "");
    EXPECT_NE(refused({.notice_loss = 0.1}, uc), "");
    EXPECT_NE(refused({.loaded_back = true}, uc), "");
}

}  // namespace
}  // namespace wireproof::lab
