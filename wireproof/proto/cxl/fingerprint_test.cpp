// What the fingerprint of an end contains. It must differ if the ends can act differently. Where it
// is equal although the ends are not, a search of all states has fewer states.
#include "wireproof/proto/cxl/pair_test_kit.hpp"

namespace wireproof::cxl {
namespace {

Fingerprint::Value without_trainings(const Link& link, Instant now) {
    Fingerprint sink;
    link.fingerprint_without_trainings(now, sink);
    return sink.value();
}

// CXL-20: what was lost in the first training is asked for at its end, and then forgotten.
TEST(CxlFingerprint, HasAFrameThatWasLostInTheFirstTrainingUntilItsEnd) {
    Pair lossy(test_config(), false);
    Pair other(test_config(), false);
    lossy.a.damage(lossy.now);
    EXPECT_NE(lossy.a.fingerprint(lossy.now), other.a.fingerprint(other.now));
    for (Pair* pair : {&lossy, &other}) {
        pair->start();
        pair->finish();
    }
    EXPECT_EQ(lossy.a.fingerprint(lossy.now), other.a.fingerprint(other.now));
}

// CXL-12: after PHY_REINIT all is asked for in any case.
TEST(CxlFingerprint, DoesNotHaveAFrameThatWasLostInALaterTraining) {
    Pair pair;
    pair.a.link.retrain(pair.now);
    const auto before = pair.a.fingerprint(pair.now);
    pair.a.damage(pair.now);
    EXPECT_EQ(pair.a.fingerprint(pair.now), before);
}

// CXL-20: as many trainings as there are numbers lead back to the first one. Each of them ends, and
// apart from their numbers all leave the same state behind.
TEST(CxlFingerprint, TrainingsDifferOnlyInTheirNumber) {
    constexpr std::uint32_t numbers = 5;
    Config config = test_config();
    config.training_numbers = numbers;
    Pair pair(config);
    std::vector<Fingerprint::Value> values;
    std::vector<Fingerprint::Value> values_without;
    for (std::uint32_t i = 0; i < 2 * numbers; ++i) {
        pair.a.link.retrain(pair.now);
        pair.finish();
        ASSERT_EQ(pair.a.link.state(), Link::State::up);
        ASSERT_EQ(pair.b.link.state(), Link::State::up);
        const Training& training = pair.a.link.training();
        EXPECT_EQ(training.own_number(), (2 + i) % numbers);
        EXPECT_EQ(training.peers_number(), pair.b.link.training().own_number());
        values.push_back(pair.a.fingerprint(pair.now));
        values_without.push_back(without_trainings(pair.a.link, pair.now));
        EXPECT_EQ(values_without[i], values_without[0]);
        if (i > 0) {
            EXPECT_NE(values[i], values[i - 1]);
        }
        if (i >= numbers) {
            EXPECT_EQ(values[i], values[i - numbers]);
        }
    }
}

}  // namespace
}  // namespace wireproof::cxl
