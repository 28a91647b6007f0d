// If two histories lead to different deliveries, the fingerprints differ before these are drawn,
// too.
#include <gtest/gtest.h>

#include "wireproof/proto/am/pair_test_kit.hpp"

namespace wireproof::am::test {
namespace {

/// All frames that leave `from` reach the other end, whose user draws nothing.
void carry_undrawn(Pair& pair, Node& from) {
    for (const Frame& frame : from.take(pair.now)) {
        pair.other(from).engine.on_frame(pair.now, {.bytes = frame.bytes, .lent = {}});
    }
}

TEST(AmFingerprint, SeesWhichRequestWaitsForTheUser) {
    for (const Config& config : all()) {
        const auto after = [&config](unsigned handler, std::size_t count) {
            Pair pair(config);
            const auto arguments = words(std::vector<std::uint32_t>(count, 7));
            EXPECT_EQ(pair.a.engine.request(static_cast<HandlerId>(handler), arguments),
                      PostStatus::accepted);
            carry_undrawn(pair, pair.a);
            return pair.b.fingerprint(pair.now);
        };
        EXPECT_EQ(after(5, 1), after(5, 1));
        EXPECT_NE(after(5, 1), after(6, 1));
        EXPECT_NE(after(5, 1), after(5, 2));
    }
}

TEST(AmFingerprint, SeesWhichTransferEndedBeforeTheUserPolled) {
    for (const Config& config : all()) {
        const auto after = [&config](std::uint64_t tag) {
            Pair pair(config);
            const auto source = pattern(100);
            EXPECT_EQ(pair.a.engine.store({.address = Node::base,
                                           .source = source,
                                           .handler = static_cast<HandlerId>(5),
                                           .tag = tag}),
                      PostStatus::accepted);
            pair.carry(pair.a);
            carry_undrawn(pair, pair.b);
            const auto waiting = pair.a.fingerprint(pair.now);
            pair.a.draw();
            EXPECT_EQ(pair.a.take_log(), Log{"STORE_ENDED " + std::to_string(tag)});
            return std::pair(waiting, pair.a.fingerprint(pair.now));
        };
        EXPECT_EQ(after(1), after(1));
        EXPECT_NE(after(1).first, after(2).first);
        EXPECT_EQ(after(1).second, after(2).second);
    }
}

}  // namespace
}  // namespace wireproof::am::test
