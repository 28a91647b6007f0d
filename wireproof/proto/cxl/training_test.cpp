// The numbers of trainings.
#include "wireproof/proto/cxl/training.hpp"

#include <gtest/gtest.h>

namespace wireproof::cxl {
namespace {

using Event = Training::Event;

Training up() {
    Training training{Config{}};
    const TrainingSet first = training.on_set_sent(Instant());
    EXPECT_EQ(first, (TrainingSet{.fresh = true, .own = 1}));
    EXPECT_EQ(training.on_set(Instant(), {.fresh = true, .heard = true, .own = 7, .peers = 1}),
              Event::ended);
    EXPECT_EQ(training.on_set_sent(Instant()),
              (TrainingSet{.fresh = true, .heard = true, .done = true, .own = 1, .peers = 7}));
    return training;
}

// CXL-20: a set from before this training, or from a peer that has not heard of it, does not end
// it.
TEST(CxlTraining, OnlyASetThatAnswersThisTrainingEndsIt) {
    Training training = up();
    training.begin(Instant(), false);
    EXPECT_EQ(training.on_set(Instant(), {.heard = true, .done = true, .own = 7, .peers = 1}),
              Event::nothing);
    EXPECT_EQ(training.on_set(Instant(), {.own = 8, .peers = 2}), Event::nothing);
    EXPECT_TRUE(training.running());
    EXPECT_EQ(training.on_set(Instant(), {.heard = true, .own = 8, .peers = 2}), Event::ended);
    EXPECT_FALSE(training.running());
}

// CXL-20
TEST(CxlTraining, ASetOfANewTrainingBeginsOneHere) {
    Training training = up();
    EXPECT_EQ(training.on_set(Instant(), {.own = 8}), Event::began);
    EXPECT_TRUE(training.running());
    EXPECT_EQ(training.on_set_sent(Instant()), (TrainingSet{.heard = true, .own = 2, .peers = 8}));
}

// CXL-20: two ends that are done do not answer each other for ever.
TEST(CxlTraining, ASetAfterTheEndIsAnsweredOnlyIfThePeerIsNotDone) {
    Training training = up();
    const TrainingSet set{.fresh = true, .heard = true, .own = 7, .peers = 1};
    EXPECT_EQ(training.on_set(Instant(), set), Event::nothing);
    EXPECT_TRUE(training.owes());
    training.on_set_sent(Instant());
    TrainingSet done = set;
    done.done = true;
    EXPECT_EQ(training.on_set(Instant(), done), Event::nothing);
    EXPECT_FALSE(training.owes());
}

// CXL-20: an end with state and one without cannot end a training together.
TEST(CxlTraining, APeerWithoutStateIsNoticed) {
    Training training = up();
    EXPECT_FALSE(training.restarts({.fresh = true, .own = 7})) << "the training that was";
    EXPECT_TRUE(training.restarts({.fresh = true, .own = 8}));
    EXPECT_FALSE(training.restarts({.own = 8}));
    training.begin(Instant(), false);
    EXPECT_FALSE(training.restarts({.fresh = true, .own = 7})) << "in flight since that training";
    EXPECT_TRUE(training.restarts({.fresh = true, .own = 8}));
    EXPECT_TRUE(training.restarts({.fresh = true, .heard = true, .own = 7, .peers = 2}))
        << "it has not ended its first training";
    EXPECT_EQ(training.on_set(Instant(), {.fresh = true, .heard = true, .own = 8, .peers = 2}),
              Event::nothing);
    training.begin(Instant(), true);
    EXPECT_FALSE(training.restarts({.fresh = true, .own = 9}));
}

}  // namespace
}  // namespace wireproof::cxl
