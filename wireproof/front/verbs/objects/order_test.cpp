// A program does not see a message before the Read, Atomic or Write that came before it, whichever
// queue it polls first.
#include <poll.h>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

/// An end whose sends complete in a queue of their own. `completions` has the messages.
struct TwoQueues : End {
    TwoQueues() : End(IBV_QPT_RC, true) {
        EXPECT_EQ(ibv_destroy_qp(pair), 0);
        ibv_qp_init_attr asked{};
        asked.send_cq = sends;
        asked.recv_cq = completions;
        asked.cap = {.max_send_wr = 64,
                     .max_recv_wr = 64,
                     .max_send_sge = 2,
                     .max_recv_sge = 2,
                     .max_inline_data = 64};
        asked.qp_type = IBV_QPT_RC;
        pair = ibv_create_qp(domain, &asked);
        EXPECT_NE(pair, nullptr) << std::strerror(errno);
    }
    TwoQueues(const TwoQueues&) = delete;
    TwoQueues& operator=(const TwoQueues&) = delete;
    ~TwoQueues() {
        EXPECT_EQ(ibv_destroy_qp(pair), 0);
        EXPECT_EQ(ibv_destroy_cq(sends), 0);
        pair = nullptr;
    }

    /// Posts work that gives a completion, and a Send behind it that gives none.
    void post_and_send(ibv_wr_opcode opcode, const Contact& peer) {
        ibv_sge first = piece(0, 8);
        ibv_sge second = piece(8, 8);
        ibv_send_wr message{};
        message.sg_list = &second;
        message.num_sge = 1;
        message.opcode = IBV_WR_SEND;
        ibv_send_wr work{};
        work.next = &message;
        work.sg_list = &first;
        work.num_sge = 1;
        work.opcode = opcode;
        work.send_flags = IBV_SEND_SIGNALED;
        const std::uint64_t at = (peer.address + 4096 + 7) / 8 * 8;
        if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
            work.wr.atomic = {.remote_addr = at, .compare_add = 1, .swap = 0, .rkey = peer.key};
        } else {
            work.wr.rdma = {.remote_addr = at, .rkey = peer.key};
        }
        ibv_send_wr* bad = nullptr;
        ASSERT_EQ(ibv_post_send(pair, &work, &bad), 0);
    }

    ibv_cq* sends = ibv_create_cq(context, 256, nullptr, nullptr, 0);
};

struct Asked {
    Asked() {
        a.connect(b.contact());
        b.connect(a.contact());
    }
    /// `a` asks for something and sends a message, and `b` answers the message.
    void exchange(ibv_wr_opcode opcode) {
        ASSERT_EQ(a.post_receive(1, a.piece(64, 8)), 0);
        ASSERT_EQ(b.post_receive(2, b.piece(64, 8)), 0);
        a.post_and_send(opcode, b.contact());
        ASSERT_EQ(b.wait().opcode, IBV_WC_RECV);
        ASSERT_EQ(b.post(IBV_WR_SEND, 3, b.piece(0, 8), {}), 0);
        b.wait();
    }
    TwoQueues a;
    End b;
};

constexpr std::array one_sided = {IBV_WR_RDMA_READ, IBV_WR_RDMA_WRITE, IBV_WR_ATOMIC_FETCH_AND_ADD};

// As UCX polls: the queue of sends only if there is no message. RC-38
TEST(VerbsOrder, AnAnswerIsNotSeenBeforeTheWorkThatCameBeforeTheQuestion) {
    Asked ends;
    for (int round = 0; round < 30; ++round) {
        ends.exchange(one_sided[static_cast<std::size_t>(round) % one_sided.size()]);
        bool done = false;
        bool answered = false;
        const auto end = std::chrono::steady_clock::now() + patience;
        while ((!done || !answered) && std::chrono::steady_clock::now() < end) {
            ibv_wc one{};
            if (ibv_poll_cq(ends.a.completions, 1, &one) == 1) {
                EXPECT_TRUE(done) << round;
                answered = true;
            } else if (ibv_poll_cq(ends.a.sends, 1, &one) == 1) {
                EXPECT_EQ(one.status, IBV_WC_SUCCESS);
                done = true;
            }
        }
        ASSERT_TRUE(done && answered);
    }
}

// RC-38: nothing waits for a poll of the other queue.
TEST(VerbsOrder, AProgramThatPollsOrSleepsForMessagesOnlyGetsThem) {
    Asked ends;
    for (int round = 0; round < 20; ++round) {
        ASSERT_EQ(ibv_req_notify_cq(ends.a.completions, 0), 0);
        ends.exchange(IBV_WR_RDMA_READ);
        ibv_wc one{};
        if (round % 2 == 0) {
            EXPECT_EQ(ends.a.wait().opcode, IBV_WC_RECV);
            continue;
        }
        // Asks for an event, polls once more, and sleeps.
        ASSERT_EQ(ibv_req_notify_cq(ends.a.completions, 0), 0);
        while (ibv_poll_cq(ends.a.completions, 1, &one) == 0) {
            ibv_cq* told = nullptr;
            void* user = nullptr;
            pollfd event{ends.a.channel->fd, POLLIN, 0};
            ASSERT_EQ(::poll(&event, 1, static_cast<int>(patience.count())), 1);
            ASSERT_EQ(ibv_get_cq_event(ends.a.channel, &told, &user), 0);
            ibv_ack_cq_events(told, 1);
            ASSERT_EQ(ibv_req_notify_cq(told, 0), 0);
        }
        EXPECT_EQ(one.opcode, IBV_WC_RECV);
    }
    ibv_wc one{};
    for (int round = 0; round < 20; ++round) {
        EXPECT_EQ(ibv_poll_cq(ends.a.sends, 1, &one), 1);
        EXPECT_EQ(one.opcode, IBV_WC_RDMA_READ);
    }
}

}  // namespace
}  // namespace wireproof::verbs::test
