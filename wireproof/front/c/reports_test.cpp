// Lost peers and counters.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "wireproof/front/c/c_test_kit.hpp"

namespace wireproof::c {
namespace {

using namespace test;

struct Loss {
    int count = 0;
    wireproof_peer_lost lost{};
    std::string message;
    std::string cause;
    std::vector<std::string> undelivered;
    wireproof_status again = not_ended;
};

void note_loss(wireproof_endpoint* end, const wireproof_peer_lost* lost, void* user) {
    Loss& loss = *static_cast<Loss*>(user);
    ++loss.count;
    loss.lost = *lost;
    loss.message = lost->message;
    loss.cause = lost->cause;
    for (std::size_t i = 0; i < lost->undelivered_count; ++i) {
        const wireproof_undelivered& one = *lost->undelivered[i];
        EXPECT_EQ(one.size, sizeof one);
        loss.undelivered.push_back(std::to_string(one.kind) + " " + std::to_string(one.handler) +
                                   " " +
                                   std::string(static_cast<const char*>(one.bytes), one.length));
    }
    loss.again = wireproof_endpoint_request(end, lost->peer, ask, "", 0);
}

TEST(CReports, ALostPeerIsReportedWithWhatWasUnderWay) {
    Pair pair(false, 100);
    Loss loss;
    ASSERT_EQ(wireproof_endpoint_on_peer_lost(pair.a(), note_loss, &loss), WIREPROOF_OK);
    pair.free_b();
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "hello", 5), WIREPROOF_OK);
    wireproof_status put = not_ended;
    ASSERT_EQ(wireproof_endpoint_store_async(pair.a(), 1, 0, "bytes", 5, stored, 0, ended, &put),
              0);
    EXPECT_EQ(wireproof_endpoint_flush(pair.a(), 1, patience_ms), WIREPROOF_PEER_LOST);
    EXPECT_EQ(loss.count, 1);
    EXPECT_EQ(loss.lost.size, sizeof(wireproof_peer_lost));
    EXPECT_EQ(loss.lost.peer, 1U);
    EXPECT_EQ(loss.lost.why, static_cast<std::uint32_t>(WIREPROOF_LOST_SILENT));
    EXPECT_EQ(loss.lost.by_peer, 0U);
    EXPECT_EQ(loss.message.substr(0, 6), "node 1") << loss.message;
    EXPECT_EQ(loss.undelivered, (std::vector<std::string>{"0 1 hello", "2 3 "}));
    EXPECT_EQ(put, WIREPROOF_PEER_LOST);
    EXPECT_EQ(loss.again, WIREPROOF_OK) << "a report may begin a new session";
}

TEST(CReports, AReportIsReplacedAndRemoved) {
    Pair pair(false, 50);
    Loss first;
    Loss second;
    ASSERT_EQ(wireproof_endpoint_on_peer_lost(pair.a(), note_loss, &first), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_on_peer_lost(pair.a(), note_loss, &second), WIREPROOF_OK);
    pair.free_b();
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "", 0), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_flush(pair.a(), 1, patience_ms), WIREPROOF_PEER_LOST);
    ASSERT_EQ(wireproof_endpoint_on_peer_lost(pair.a(), nullptr, nullptr), WIREPROOF_OK);
    EXPECT_EQ(wireproof_endpoint_flush(pair.a(), 1, patience_ms), WIREPROOF_PEER_LOST);
    EXPECT_EQ(first.count, 0);
    EXPECT_EQ(second.count, 1);
}

TEST(CReports, CountersAreThoseOfThePeer) {
    const Pair pair;
    Got got;
    ASSERT_EQ(wireproof_endpoint_handle(pair.b(), ask, keep, &got), WIREPROOF_OK);
    ASSERT_EQ(wireproof_endpoint_request(pair.a(), 1, ask, "x", 1), WIREPROOF_OK);
    ASSERT_TRUE(pair.run([&] { return got.count == 1; }));
    ASSERT_TRUE(pair.settle());
    wireproof_counters counters{};
    counters.size = sizeof counters;
    ASSERT_EQ(wireproof_endpoint_counters(pair.b(), 0, &counters), WIREPROOF_OK);
    EXPECT_EQ(counters.size, sizeof counters);
    EXPECT_EQ(counters.path, static_cast<std::uint64_t>(WIREPROOF_PATH_UDP));
    EXPECT_EQ(counters.accepted, 1U);
    EXPECT_GT(counters.control, 0U);
    EXPECT_EQ(counters.corrupt, 0U);
    EXPECT_EQ(counters.sessions, 1U);
    EXPECT_GT(counters.sent, 0U);
    EXPECT_EQ(wireproof_endpoint_counters(pair.b(), 1, &counters), WIREPROOF_NO_SUCH_PEER)
        << "itself";
    EXPECT_EQ(wireproof_endpoint_counters(pair.b(), 2, &counters), WIREPROOF_NO_SUCH_PEER);
    EXPECT_EQ(wireproof_endpoint_counters(pair.b(), SIZE_MAX, &counters), WIREPROOF_NO_SUCH_PEER);

    // A program of an earlier version, which knows only the first two.
    wireproof_counters fewer{};
    fewer.size = 3 * sizeof(std::uint64_t);
    fewer.held = 5;
    ASSERT_EQ(wireproof_endpoint_counters(pair.b(), 0, &fewer), WIREPROOF_OK);
    EXPECT_EQ(fewer.accepted, 1U);
    EXPECT_EQ(fewer.held, 5U) << "not written";
}

TEST(CReports, SharedMemoryIsTheOtherPath) {
    const Pair pair(true);
    wireproof_counters counters{};
    counters.size = sizeof counters;
    ASSERT_EQ(wireproof_endpoint_counters(pair.a(), 1, &counters), WIREPROOF_OK);
    EXPECT_EQ(counters.path, static_cast<std::uint64_t>(WIREPROOF_PATH_SHARED_MEMORY));
}

}  // namespace
}  // namespace wireproof::c
