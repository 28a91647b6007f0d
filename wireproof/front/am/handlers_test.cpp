#include "wireproof/front/am/handlers.hpp"

#include <gtest/gtest.h>

namespace wireproof::am {
namespace {

TEST(AmHandlers, AreFoundByNumber) {
    Handlers handlers;
    int ran = 0;
    handlers.set(7, [&](const Message&) { ++ran; });
    handlers.change();
    EXPECT_EQ(handlers.find(HandlerId{6}), nullptr);
    EXPECT_EQ(handlers.find(HandlerId{8}), nullptr);
    EXPECT_EQ(handlers.find(HandlerId{0xFFFF}), nullptr);
    ASSERT_NE(handlers.find(HandlerId{7}), nullptr);
    EXPECT_TRUE(handlers.table().has(HandlerId{7}));
    EXPECT_FALSE(handlers.table().has(HandlerId{6}));
}

TEST(AmHandlers, ChangeOnlyWhenNoneRuns) {
    Handlers handlers;
    handlers.set(1, [](const Message&) {});
    EXPECT_TRUE(handlers.must_change());
    EXPECT_EQ(handlers.find(HandlerId{1}), nullptr);
    handlers.change();
    EXPECT_FALSE(handlers.must_change());
    ASSERT_NE(handlers.find(HandlerId{1}), nullptr);
    handlers.set(1, nullptr);
    EXPECT_NE(handlers.find(HandlerId{1}), nullptr);
    handlers.set(1, [](const Message&) {});  // the last one counts
    handlers.change();
    EXPECT_NE(handlers.find(HandlerId{1}), nullptr);
}

// Peers rely on this count to store at once.
TEST(AmHandlers, CountThoseThatAreRemoved) {
    Handlers handlers;
    handlers.set(1, nullptr);  // it was not there
    handlers.set(1, [](const Message&) {});
    handlers.set(1, [](const Message&) {});  // replaced
    handlers.change();
    EXPECT_EQ(handlers.removed(), 0U);
    handlers.set(1, nullptr);
    handlers.change();
    EXPECT_EQ(handlers.removed(), 1U);
    EXPECT_FALSE(handlers.table().has(HandlerId{1}));
}

TEST(AmReport, MayReplaceItselfWhileItRuns) {
    Report<int> report;
    std::string heard;
    report(1);  // nobody listens
    const std::string text(100, 'a');
    report.set([&heard, &report, text](int) {
        report.set([&heard](int number) { heard += std::to_string(number); });
        heard += text;
    });
    report(2);
    report(3);
    EXPECT_EQ(heard, text + "3");
    report.set(nullptr);
    report(4);
    EXPECT_EQ(heard, text + "3");
}

}  // namespace
}  // namespace wireproof::am
