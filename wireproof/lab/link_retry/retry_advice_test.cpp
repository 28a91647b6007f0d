#include "wireproof/lab/link_retry/retry_advice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace wireproof::lab {
namespace {

constexpr double gigabit = 1e9 / 8;  // bytes per second

RetryPlan plan(std::uint64_t packets = 0) {
    RetryPlan plan;
    plan.packets = packets;
    plan.seed = 7;
    return plan;
}

Advice advice_for(std::string_view protocol, const AdviceLine& line) {
    auto advice = advise(*retry_protocol(protocol), line, plan());
    if (!advice) ADD_FAILURE() << advice.error().message;
    return advice ? *std::move(advice) : Advice();
}

double throughput(RetrySettings settings, std::uint32_t buffer) {
    settings.buffer = buffer;
    return run_retry_point(settings, plan(1'000'000))->throughput();
}

double limit(const Advice& advice, std::string_view name) {
    const auto found = std::find_if(advice.limits.begin(), advice.limits.end(),
                                    [name](const AdvisedLimit& one) { return one.name == name; });
    if (found != advice.limits.end()) return found->value;
    ADD_FAILURE() << "no limit " << name;
    return 0;
}

TEST(RetryAdvice, TheBufferIsTheSmallestThatKeepsTheThroughput) {
    const AdviceLine line{.bytes_per_second = 800 * gigabit, .metres = 40, .bit_error = 1e-8};
    const Advice advice = advice_for("ue-llr", line);
    EXPECT_TRUE(advice.reached);
    const double wanted = Advice::share * advice.endless;
    EXPECT_GE(throughput(advice.settings, advice.settings.buffer), 0.998 * wanted);
    EXPECT_LT(throughput(advice.settings, advice.settings.buffer - 1), wanted);
    // A window that fills loop and unit, and nothing more than a few ACKs' distance beside it.
    const double fills = 1 + static_cast<double>(advice.link.loop) / advice.link.unit.bytes();
    EXPECT_GE(advice.settings.buffer, 0.98 * fills);
    EXPECT_LE(advice.settings.buffer, fills + 3);
    EXPECT_NEAR(advice.endless, advice.link.unit.efficiency(), 0.02);
}

TEST(RetryAdvice, TheTimerIsTheShortestThatDoesNotExpireInVain) {
    const AdviceLine line{.bytes_per_second = 400 * gigabit, .metres = 5, .bit_error = 1e-9};
    const Advice advice = advice_for("ue-llr", line);
    RetrySettings clean = advice.settings;
    clean.bit_error = 0;
    EXPECT_EQ(run_retry_point(clean, plan(5'000))->totals[RetryCount::timeouts], 0U);
    // Not much longer than the loop, the unit and the distance of two ACKs.
    const double least = static_cast<double>(advice.link.loop) +
                         (advice.link.ack_every + 1) * advice.link.unit.bytes();
    EXPECT_GT(static_cast<double>(advice.settings.timer), least);
    EXPECT_LE(static_cast<double>(advice.settings.timer), 1.5 * least);
}

// LLR-21 and LLR-22
TEST(RetryAdvice, TheLimitsOfUltraEthernetFollowFromBufferAndTimer) {
    const AdviceLine line{.bytes_per_second = 800 * gigabit, .metres = 40, .bit_error = 1e-8};
    const Advice advice = advice_for("ue-llr", line);
    const double timer = limit(advice, "replay_timer_max");
    const double replays = limit(advice, "replay_ct_max");
    EXPECT_GE(timer, static_cast<double>(advice.settings.timer) / line.bytes_per_second * 1e9);
    EXPECT_EQ(limit(advice, "outstanding_seq_max"), advice.settings.buffer);
    EXPECT_GE(limit(advice, "outstanding_data_max"), advice.settings.buffer * 4096.0);
    EXPECT_GT(limit(advice, "data_age_timer_max"), replays * timer);
    EXPECT_GT(limit(advice, "pcs_lost_status_timer_max"), limit(advice, "data_age_timer_max"));
    const double bad = unit_error(line.bit_error, advice.link.unit.bytes());
    const double frames = line.bytes_per_second * 3600e9 / advice.link.unit.bytes();
    EXPECT_LE(frames * std::pow(bad, replays + 2), 1);
    EXPECT_GT(frames * std::pow(bad, replays + 1), 1) << "one replay fewer is not enough";
}

// FLIT-4, FLIT-21
TEST(RetryAdvice, FlitsEndWhereTheirNumbersDo) {
    AdviceLine line{.bytes_per_second = 800 * gigabit, .metres = 1, .bit_error = 1e-8};
    const Advice near = advice_for("flit", line);
    EXPECT_TRUE(near.reached);
    const double loop = static_cast<double>(near.link.loop) / 256;
    EXPECT_NEAR(near.settings.buffer, loop + 1, 2);
    EXPECT_EQ(limit(near, "Nak-ignore window"), std::ceil(loop) + 5);
    line.metres = 500;
    for (const char* const protocol : {"flit", "flit-selective"}) {
        const Advice far = advice_for(protocol, line);
        EXPECT_FALSE(far.reached);
        EXPECT_EQ(far.settings.buffer, 511U);
        EXPECT_NEAR(far.throughput / far.endless,
                    512 / (1 + static_cast<double>(far.link.loop) / 256), 0.01);
    }
}

TEST(RetryAdvice, TheDelayOfTheEndsIsAPartOfTheLoop) {
    const AdviceLine near{.bytes_per_second = 400 * gigabit, .metres = 5, .delay_seconds = 350e-9};
    const AdviceLine far{.bytes_per_second = 400 * gigabit, .metres = 40};
    for (const char* const protocol : {"flit", "ue-llr"}) {
        const Advice a = advice_for(protocol, near);
        const Advice b = advice_for(protocol, far);
        EXPECT_EQ(a.link.loop, b.link.loop) << protocol;
        EXPECT_EQ(a.settings.buffer, b.settings.buffer) << protocol;
    }
}

TEST(RetryAdvice, ALongerCableNeedsALargerBuffer) {
    AdviceLine line{.bytes_per_second = 200 * gigabit, .metres = 40, .bit_error = 0};
    const std::uint32_t clean = advice_for("ue-llr", line).settings.buffer;
    line.metres = 80;
    EXPECT_GT(advice_for("ue-llr", line).settings.buffer, clean);
}

TEST(RetryAdvice, SaysWhichProtocolCannotAdvise) {
    const auto advice = advise(*retry_protocol("pcie"), {.bytes_per_second = 1e9}, plan());
    ASSERT_FALSE(advice);
    EXPECT_EQ(advice.error().message, "pcie cannot advise");
    const auto model = advise(RetryProtocol::ideal, {.bytes_per_second = 1e9}, plan());
    ASSERT_FALSE(model);
    EXPECT_EQ(model.error().message, "ideal cannot advise");
}

}  // namespace
}  // namespace wireproof::lab
