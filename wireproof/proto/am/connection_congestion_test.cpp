// How a connection keeps to what its path allows. What comes of it in a full queue is shown by
// tests/sim.
#include <gtest/gtest.h>

#include "wireproof/proto/am/world_test_kit.hpp"

namespace wireproof::am::test {
namespace {

constexpr std::size_t start = CongestionWindow::Config().start;

Config on_a_shared_path() {
    Config config = ethernet();
    config.congestion = Congestion::on;
    return config;
}

std::size_t numbered(const Frames& frames) {
    return static_cast<std::size_t>(
        std::count_if(frames.begin(), frames.end(),
                      [](const Frame& frame) { return is_numbered(frame.header.kind); }));
}

TEST(AmConnection, KeepsNoMoreUnderWayThanThePathAllows) {
    Pair shorts(on_a_shared_path());
    requests(shorts.a, 50);
    EXPECT_EQ(numbered(shorts.a.take(shorts.now)), start);

    Pair bulk(on_a_shared_path(), 200'000);
    const auto source = pattern(200'000);
    ASSERT_EQ(store(bulk.a, source), PostStatus::accepted);
    EXPECT_EQ(numbered(bulk.a.take(bulk.now)), start);
    EXPECT_TRUE(bulk.a.engine.quiet());
}

TEST(AmConnection, ABundleIsOnePacketOfWhatThePathAllows) {
    Config config = on_a_shared_path();
    config.bundle_max = 24;
    Pair pair(config);
    requests(pair.a, 60);
    EXPECT_EQ(numbered(pair.a.take(pair.now)), start);
    EXPECT_TRUE(pair.a.engine.quiet());
}

// No acknowledgement is due before a quarter of the window has come, or a whole chunk.
TEST(AmConnection, AsksForTheAnswersThatOpenTheWindowWithoutATimer) {
    Pair pair(on_a_shared_path(), 200'000);
    const auto source = pattern(200'000);
    requests(pair.a, 50);
    ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
    pair.settle();
    EXPECT_TRUE(pair.a.engine.idle());
    EXPECT_TRUE(same(pair.b.memory().first(source.size()), source));
    EXPECT_EQ(pair.a.engine.stats().keepalive_timeouts, 0);
    EXPECT_EQ(pair.a.engine.stats().resent, 0);
    EXPECT_LE(pair.a.engine.stats().sent_of(Kind::keepalive), 100);
}

TEST(AmConnection, WithoutCongestionControlNothingIsAsked) {
    Pair pair(ethernet(), 200'000);
    const auto source = pattern(200'000);
    ASSERT_EQ(store(pair.a, source), PostStatus::accepted);
    pair.settle();
    EXPECT_EQ(pair.a.engine.stats().sent_of(Kind::keepalive), 0);
}

}  // namespace
}  // namespace wireproof::am::test
