#include "wireproof/front/am/transfers.hpp"

#include <gtest/gtest.h>

namespace wireproof::am {
namespace {

class AmTransfers : public testing::Test {
protected:
    Done note(std::string name) {
        return [this, name](Status status) {
            ends.push_back(name + " " + std::string(name_of(status)));
        };
    }
    using Ends = std::vector<std::string>;

    Transfers transfers;
    Ends ends;
};

TEST_F(AmTransfers, AreTakenByTheirTagsWhichAreUsedAgain) {
    const std::uint64_t first = transfers.add({note("first"), 5, 7});
    const std::uint64_t second = transfers.add({.done = note("second")});
    EXPECT_NE(first, second);
    const Transfers::Transfer taken = transfers.take(first);
    EXPECT_EQ(taken.handler, 5U);
    EXPECT_EQ(taken.notice, 7U);
    taken.done(Status::ok);
    EXPECT_EQ(transfers.add({.done = note("third")}), first);
    transfers.take(second).done(Status::forbidden);
    EXPECT_EQ(ends, (Ends{"first ok", "second forbidden"}));
}

TEST_F(AmTransfers, OneThatNobodyWaitsForHasNothing) {
    const Transfers::Transfer taken = transfers.take(Transfers::nobody_waits);
    EXPECT_FALSE(taken.done);
    EXPECT_EQ(taken.handler, 0U);
    EXPECT_EQ(transfers.add({}), 0U) << "and its tag goes to no other";
}

TEST_F(AmTransfers, OneThatACallbackEndsWaitsForTheNextTurn) {
    EXPECT_FALSE(transfers.any_ended());
    transfers.end_later([this](Status) { transfers.end_later(note("second")); });
    transfers.end_later({});
    EXPECT_TRUE(transfers.any_ended());
    EXPECT_EQ(transfers.run_ended(), 2U);
    EXPECT_EQ(ends, Ends{});
    EXPECT_EQ(transfers.run_ended(), 1U);
    EXPECT_EQ(ends, Ends{"second ok"});
    EXPECT_FALSE(transfers.any_ended());
}

TEST_F(AmTransfers, ACallbackThatThrowsHasRun) {
    transfers.end_later([](Status) { throw 7; });
    transfers.end_later(note("second"));
    EXPECT_THROW(transfers.run_ended(), int);
    EXPECT_EQ(transfers.run_ended(), 1U);
    EXPECT_EQ(ends, Ends{"second ok"});
}

TEST_F(AmTransfers, EachEndsOnce) {
    transfers.add({.done = note("under way")});
    transfers.add({});
    transfers.take(transfers.add({.done = note("taken")}));
    transfers.end_later(note("ended"));
    transfers.end_all(Status::closed);
    EXPECT_EQ(ends, (Ends{"ended ok", "under way closed"}));
    transfers.end_all(Status::closed);
    EXPECT_EQ(ends.size(), 2U);
}

}  // namespace
}  // namespace wireproof::am
