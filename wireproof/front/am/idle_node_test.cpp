// How often a node wakes that does as am.hpp says: it sleeps until a frame comes or until its next
// deadline. Time is modelled, and a frame takes no time.
#include <gtest/gtest.h>

#include "wireproof/front/am/node_test_kit.hpp"
#include "wireproof/front/am/shm_node_test_kit.hpp"

namespace wireproof::am {
namespace {

using namespace test;

/// Two nodes in one event loop.
class IdleLoop {
public:
    IdleLoop(Node& a, Node& b, Instant& now) : nodes_{&a, &b}, now_(now) {}

    /// False: `end` has come first.
    template <class Until>
    bool run(Until&& until, Instant end) {
        while (true) {
            poll();
            if (until()) return true;
            if (now_ >= end) return false;
            const std::uint64_t before = frames();
            poll();
            if (frames() != before) {
                ++wakes;
                continue;
            }
            now_ = std::max(now_,
                            earliest(end, nodes_[0]->next_deadline(), nodes_[1]->next_deadline()));
            ++wakes;
        }
    }
    bool has_deadline() const {
        return earliest(nodes_[0]->next_deadline(), nodes_[1]->next_deadline()) != never;
    }

    int wakes = 0;

private:
    void poll() {
        for (Node* const node : nodes_) node->poll(now_);
    }
    std::uint64_t frames() const {
        return nodes_[0]->counters(1).sent + nodes_[1]->counters(0).sent;
    }

    std::array<Node*, 2> nodes_;
    Instant& now_;
};

constexpr Duration hour = Duration::milliseconds(3'600'000);

/// Node 1 answers requests of node 0.
void expect_few_wakes(Node& a, Node& b, Instant& now) {
    constexpr std::uint32_t rounds = 200;
    IdleLoop loop(a, b, now);
    std::uint32_t answers = 0;
    b.handle(ask, [](const Message& m) { EXPECT_EQ(m.reply(answer, {m.words()[0]}), Status::ok); });
    a.handle(answer, [&](const Message&) { ++answers; });
    for (std::uint32_t i = 1; i <= rounds; ++i) {
        ASSERT_EQ(a.request(now, 1, ask, words({i})), Status::ok);
        ASSERT_TRUE(loop.run([&] { return answers == i; }, now + hour)) << i;
        now = now + Duration::microseconds(20);
    }
    EXPECT_LE(loop.wakes, 2 * static_cast<int>(rounds));

    // Each node checks twice whether buffers are still needed. Then nothing is due any more.
    loop.wakes = 0;
    EXPECT_TRUE(loop.run([&] { return !loop.has_deadline(); }, now + hour));
    EXPECT_LE(loop.wakes, 4);
    loop.wakes = 0;
    EXPECT_FALSE(loop.run([] { return false; }, now + hour));
    EXPECT_LE(loop.wakes, 1) << "only the limit ends the sleep";

    // Nodes that wait ask each other for signs of life, and no more.
    a.set_awaiting(true);
    b.set_awaiting(true);
    loop.wakes = 0;
    const Duration second = Duration::milliseconds(1'000);
    EXPECT_FALSE(loop.run([] { return false; }, now + second));
    EXPECT_GE(loop.wakes, 2);
    EXPECT_LE(loop.wakes, 100);
}

TEST(AmNodeAtRest, WakesSeldom) {
    Job job;
    expect_few_wakes(job[0], job[1], job.now);
}

TEST(AmNodeAtRest, WakesSeldomOnSharedMemory) {
    Nodes nodes(2);
    expect_few_wakes(nodes[0], nodes[1], nodes.now);
}

// AM-55: a turn is due, which sends the question. After that the node waits for the answer.
TEST(AmNodeAtRest, ThatLeavesAsksAtOnceAndThenWaits) {
    Job job;
    job[1].handle(ask, [](const Message&) {});
    ASSERT_EQ(job.request(0, 1, ask), Status::ok);
    ASSERT_TRUE(job.settle());
    EXPECT_FALSE(job[1].leave());
    EXPECT_TRUE(job[1].turn_is_due());
    job[1].poll(job.now);
    EXPECT_FALSE(job[1].turn_is_due());
    EXPECT_GT(job[1].next_deadline(), job.now);
    EXPECT_FALSE(job[1].leave());
    job[0].poll(job.now);
    job[1].poll(job.now);
    EXPECT_TRUE(job[1].leave());
}

}  // namespace
}  // namespace wireproof::am
