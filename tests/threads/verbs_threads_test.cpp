// A program whose threads use one device, under the thread sanitizer. Verbs promise that any thread
// may make any call at any time (ibv_post_send(3)).
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

constexpr int packets = 200;

ibv_sge piece_of(const End& end, int thread) {
    return end.piece(static_cast<std::size_t>(thread) * 8192, 4096);
}

void exchange(Pair& pair, int count = packets) {
    for (int i = 0; i < count; ++i) {
        ASSERT_EQ(pair.b.post_receive(1, piece_of(pair.b, 0)), 0);
        ASSERT_EQ(pair.a.post(IBV_WR_SEND, 1, piece_of(pair.a, 1), {}), 0);
        ASSERT_EQ(pair.b.wait().status, IBV_WC_SUCCESS);
        ASSERT_EQ(pair.a.wait().status, IBV_WC_SUCCESS);
    }
}

template <class One, class Other>
void at_once(One&& one, Other&& other) {
    std::thread thread(other);
    one();
    thread.join();
}

TEST(VerbsThreads, PostAndPollOneQueuePairEach) {
    Pair one;
    Pair two;
    at_once([&] { exchange(one); }, [&] { exchange(two); });
}

// Both threads post sends and receives, and each takes any completion, also of the other's work.
TEST(VerbsThreads, PostAndPollTheSameQueuePair) {
    Pair pair;
    std::atomic<int> sent = 0;
    std::atomic<int> received = 0;
    std::atomic<int> failed = 0;
    const auto take = [&](const End& end, std::atomic<int>& count) {
        std::array<ibv_wc, 4> taken{};
        const int some = ibv_poll_cq(end.completions, 4, taken.data());
        for (int i = 0; i < some; ++i) {
            if (taken[static_cast<std::size_t>(i)].status != IBV_WC_SUCCESS) ++failed;
        }
        count += some;
    };
    const auto run = [&](int thread) {
        for (int i = 0; i < packets; ++i) {
            ASSERT_EQ(pair.b.post_receive(1, piece_of(pair.b, thread)), 0);
            ASSERT_EQ(pair.a.post(IBV_WR_SEND, 1, piece_of(pair.a, thread), {}), 0);
            // The queues hold at most 64.
            while (2 * (i + 1) - received > 32 || 2 * (i + 1) - sent > 32) {
                take(pair.a, sent);
                take(pair.b, received);
            }
        }
        while (sent < 2 * packets || received < 2 * packets) {
            take(pair.a, sent);
            take(pair.b, received);
        }
    };
    at_once([&] { run(0); }, [&] { run(1); });
    EXPECT_EQ(failed, 0);
    EXPECT_EQ(sent, 2 * packets);
    EXPECT_EQ(received, 2 * packets);
}

TEST(VerbsThreads, OneSleepsOnAChannelWhileTheOtherSends) {
    Pair pair(true);
    for (int i = 0; i < 32; ++i) ASSERT_EQ(pair.a.post_receive(1, piece_of(pair.a, 0)), 0);
    ASSERT_EQ(ibv_req_notify_cq(pair.a.completions, 0), 0);
    const auto receive = [&] {
        for (int received = 0; received < 32;) {
            ibv_cq* of = nullptr;
            void* context = nullptr;
            ASSERT_EQ(ibv_get_cq_event(pair.a.channel, &of, &context), 0);
            ibv_ack_cq_events(of, 1);
            ASSERT_EQ(ibv_req_notify_cq(of, 0), 0);
            ibv_wc one{};
            while (ibv_poll_cq(of, 1, &one) == 1) ++received;
        }
    };
    const auto send = [&] {
        for (int i = 0; i < 32; ++i) {
            ASSERT_EQ(pair.b.post(IBV_WR_SEND, 1, piece_of(pair.b, 1), {}), 0);
            ASSERT_EQ(pair.b.wait().status, IBV_WC_SUCCESS);
        }
    };
    at_once(receive, send);
}

TEST(VerbsThreads, OneMakesAndDestroysObjectsWhileTheOtherSends) {
    Pair pair;
    at_once([&] { exchange(pair); },
            [] {
                for (int i = 0; i < 20; ++i) {
                    Pair own;
                    exchange(own, 5);
                }
            });
}

}  // namespace
}  // namespace wireproof::verbs::test
