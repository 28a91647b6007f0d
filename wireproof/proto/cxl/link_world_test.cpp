// Random worlds: continuous lines and datagrams, with damage in both directions. Nothing is lost,
// doubled or reordered, and the counts of both ends agree at the end.
#include "wireproof/base/random.hpp"
#include "wireproof/proto/cxl/line_test_kit.hpp"

namespace wireproof::cxl {
namespace {

struct World {
    double spoilt = 0;
    std::uint32_t timeout = 4096;
    std::uint32_t depth = 200;
    std::size_t latency = 25;
    std::uint64_t messages = 3000;
};

void run(const World& world, std::uint64_t seed) {
    Random random(seed);
    Config config = line_config(world.timeout, world.depth);
    config.max_num_phy_reinit = Config::unlimited;
    Line line(config, world.latency, true);
    line.spoils = [&](bool, const FrameInfo&) { return random.uniform() < world.spoilt; };
    line.run_until(world.messages, 400 * world.messages);
    // The line is clean again: both ends come to rest with the same counts.
    line.spoils = [](bool, const FrameInfo&) { return false; };
    line.loads = false;
    line.run(10 * world.latency + 10 * world.timeout + 5000);
    for (End* end : {&line.a(), &line.b()}) {
        EXPECT_EQ(end->downs, 0) << seed;
        EXPECT_EQ(end->ups, 1) << seed;
        EXPECT_TRUE(end->link.lrsm().normal()) << seed;
        EXPECT_EQ(end->link.sender().news_outstanding(), 0U) << seed;
        EXPECT_EQ(end->link.stats().protocol_errors, 0U) << seed;
    }
    EXPECT_EQ(line.a().link.receiver().eseq(), line.b().link.sender().wr_ptr()) << seed;
    EXPECT_EQ(line.b().link.receiver().eseq(), line.a().link.sender().wr_ptr()) << seed;
}

// CXL-6, CXL-11, CXL-12. An answer takes 56 slots, and longer if the peer sends something before
// it, so the shortest TIMEOUT often gives two answers.
TEST(CxlWorld, SurvivesDamageBothWaysWithShortAndLongTimeouts) {
    for (const std::uint32_t timeout : {58U, 100U, 1000U}) {
        for (const double spoilt : {0.003, 0.03}) {
            run({.spoilt = spoilt, .timeout = timeout}, timeout);
        }
    }
}

// CXL-5: buffers that are smaller than the loop, so they are always full.
TEST(CxlWorld, SurvivesWithFullBuffers) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        run({.spoilt = 0.02, .timeout = 150, .depth = 22, .messages = 1000}, seed);
    }
}

TEST(CxlWorld, SurvivesOnAShortLineWithMuchDamage) {
    for (std::uint64_t seed = 0; seed < 8; ++seed) {
        run({.spoilt = 0.1, .timeout = 40, .depth = 30, .latency = 2, .messages = 500}, seed);
    }
}

TEST(CxlWorld, SurvivesOnALongLine) {
    run({.spoilt = 0.002, .timeout = 820, .depth = 255, .latency = 400, .messages = 2000}, 1);
}

// CXL-6, CXL-25: each answer comes too late. Nothing wrong is delivered, but nothing else, either.
TEST(CxlWorld, ATimeoutBelowTheLoopIsSafeButMakesNoProgress) {
    Config config = line_config(30);
    config.max_num_phy_reinit = Config::unlimited;
    Line line(config, 25, true);
    line.start();
    line.run_until(100, 1000);
    const std::uint64_t before = line.arrived_at_b();
    line.spoils = [done = false](bool to_b, const FrameInfo&) mutable {
        return to_b && !std::exchange(done, true);
    };
    line.run(200);
    const std::uint64_t stopped = line.arrived_at_b();
    EXPECT_LE(stopped, before + 52);
    line.run(20'000);
    EXPECT_EQ(line.arrived_at_b(), stopped);
    EXPECT_GT(line.b().link.stats().stale_acks, 100U);
    EXPECT_GT(line.b().link.stats().phy_reinits, 10U);
}

// Without damage, no flit is sent twice, and the line is full.
TEST(CxlWorld, ACleanLineIsFullAndRepeatsNothing) {
    Line line(line_config(4096), 25, true);
    line.start();
    const std::uint64_t slots = line.run_until(10'000, 20'000);
    EXPECT_LE(slots, 10'000U + 30);
    EXPECT_EQ(line.a().link.stats().resent, 0U);
    EXPECT_EQ(line.a().link.stats().naks, 0U);
    EXPECT_EQ(line.a().link.stats().acks, 1U) << "messages carry the acknowledgements";
}

// CXL-17: one LLCRD for 16 messages, if there are only messages in one direction.
TEST(CxlWorld, AOneWayLineReturnsOneLlcrdForSixteenMessages) {
    Line line(line_config(4096), 25, false);
    line.start();
    line.run_until(16'000, 20'000);
    EXPECT_NEAR(static_cast<double>(line.b().link.stats().acks), 1000, 6);
    EXPECT_EQ(line.a().link.stats().acks, 1U);
    EXPECT_EQ(line.a().link.stats().resent + line.b().link.stats().resent, 0U);
}

// CXL-25: on a continuous line TIMEOUT counts the flits that this end sends.
TEST(CxlWorld, TimeoutCountsFlitsOnAContinuousLine) {
    Config config = test_config();
    config.continuous = true;
    config.timeout = 70;
    End a(config);
    End b(config);
    const Instant now;
    for (int i = 0; i < 500; ++i) {
        if (const auto frame = a.poll(now)) b.give(now, *frame);
        if (const auto frame = b.poll(now)) a.give(now, *frame);
    }
    ASSERT_EQ(b.link.state(), Link::State::up);
    b.damage(now);
    int flits = 0;
    while (b.link.lrsm().state() != LocalRetry::State::local_idle) b.poll(now);
    while (b.link.stats().timeouts == 0) {
        EXPECT_EQ(b.poll(now)->name(), "RETRY.Idle");
        ++flits;
    }
    EXPECT_EQ(flits, 70);
    EXPECT_EQ(b.link.next_deadline(), never);
}

// The datagrams of a wire that loses some. In place of each lost one, the next one brings a damaged
// frame first.
class LossyWire {
public:
    LossyWire(Random& random, double loses) : random_(random), loses_(loses) {}

    void carry(Instant now, End& from, End& to) {
        while (const auto frame = from.poll(now)) {
            if (random_.uniform() < loses_) {
                ++missing_;
                continue;
            }
            for (; missing_ > 0; --missing_) to.damage(now);
            to.give(now, *frame);
        }
    }

    double& loses() { return loses_; }

private:
    Random& random_;
    double loses_;
    int missing_ = 0;
};

// CXL-21
TEST(CxlWorld, DatagramsThatAreLostInSilenceAreFoundByProbes) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
        Random random(seed);
        Config config = Config::of_datagrams();
        config.modulus = seed % 2 == 0 ? 22 : 128;
        Pair pair(config, false);
        LossyWire to_b(random, 0.1);
        LossyWire to_a(random, 0.1);
        std::uint32_t answers = 0;
        for (int i = 0; i < 200'000 && (pair.b.got.size() < 300 || pair.a.got.size() < 100); ++i) {
            if (pair.submitted < 300 && pair.a.link.has_room()) {
                pair.submit(1, pair.submitted % 61);
            }
            if (answers < 100 && pair.b.link.has_room()) {
                EXPECT_EQ(pair.b.link.submit(message(answers % 61, answers)),
                          SubmitStatus::accepted);
                ++answers;
            }
            to_b.carry(pair.now, pair.a, pair.b);
            to_a.carry(pair.now, pair.b, pair.a);
            const bool quiet = pair.a.link.quiet() && pair.b.link.quiet();
            if (quiet && pair.next() != never) pair.wait();
        }
        pair.expect_all();
        ASSERT_EQ(pair.a.got.size(), 100U);
        for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(pair.a.got[i], message(i % 61, i));
        to_b.loses() = to_a.loses() = 0;
        for (int i = 0; i < 1000 && pair.next() != never; ++i) {
            to_b.carry(pair.now, pair.a, pair.b);
            to_a.carry(pair.now, pair.b, pair.a);
            const bool quiet = pair.a.link.quiet() && pair.b.link.quiet();
            if (quiet && pair.next() != never) pair.wait();
        }
        EXPECT_EQ(pair.next(), never) << "the link falls silent";
        EXPECT_EQ(pair.a.downs + pair.b.downs, 0);
        EXPECT_EQ(pair.a.link.stats().protocol_errors, 0U);
        EXPECT_EQ(pair.b.link.stats().protocol_errors, 0U);
    }
}

// A copy of both ends does the same as the originals, and the fingerprint says that they are equal.
TEST(CxlWorld, CopiesGoOnAlikeAndFingerprintsDistinguishStates) {
    Pair pair;
    pair.submit(5);
    pair.b.give(pair.now, *pair.a.poll(pair.now));
    Pair copy = pair;
    EXPECT_EQ(copy.a.fingerprint(copy.now), pair.a.fingerprint(pair.now));
    pair.finish();
    EXPECT_NE(copy.a.fingerprint(copy.now), pair.a.fingerprint(pair.now));
    copy.pass(Duration::nanoseconds(1));
    copy.finish();
    EXPECT_EQ(copy.a.fingerprint(copy.now), pair.a.fingerprint(pair.now)) << "times are relative";
    copy.b.damage(copy.now);
    EXPECT_NE(copy.b.fingerprint(copy.now), pair.b.fingerprint(pair.now));
}

}  // namespace
}  // namespace wireproof::cxl
