// Work requests that are built call by call, completions that are read member by member, and memory
// windows.
#include <array>
#include <chrono>
#include <thread>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

constexpr std::uint64_t operations = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM |
                                     IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
                                     IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_BIND_MW;

/// An end with a queue pair from ibv_create_qp_ex.
struct ExtendedEnd : End {
    explicit ExtendedEnd(std::uint32_t sends = 8) {
        EXPECT_EQ(ibv_destroy_qp(pair), 0);
        ibv_qp_init_attr_ex asked{};
        asked.send_cq = asked.recv_cq = completions;
        asked.cap = {.max_send_wr = sends,
                     .max_recv_wr = 8,
                     .max_send_sge = 2,
                     .max_recv_sge = 2,
                     .max_inline_data = 64};
        asked.qp_type = IBV_QPT_RC;
        asked.sq_sig_all = 1;
        asked.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
        asked.pd = domain;
        asked.send_ops_flags = operations;
        pair = ibv_create_qp_ex(context, &asked);
        EXPECT_NE(pair, nullptr);
        builder = ibv_qp_to_qp_ex(pair);
    }
    ibv_qp_ex* builder = nullptr;
};

class Built : public ::testing::Test {
protected:
    Built() {
        a.connect(b.contact());
        b.connect(a.contact());
        there = b.contact();
    }
    void add_write(std::uint64_t id) {
        a.builder->wr_id = id;
        ibv_wr_rdma_write(a.builder, there.key, there.address);
        ibv_wr_set_sge(a.builder, a.region->lkey, reinterpret_cast<std::uintptr_t>(a.memory.data()),
                       8);
    }

    ExtendedEnd a;
    End b;
    Contact there{};
};

TEST_F(Built, RequestsArePostedTogetherInTheirOrder) {
    std::strcpy(a.memory.data(), "1234567");
    ibv_wr_start(a.builder);
    add_write(1);
    a.builder->wr_id = 2;
    ibv_wr_rdma_read(a.builder, there.key, there.address);
    const std::array<ibv_sge, 2> pieces = {a.piece(100, 4), a.piece(200, 4)};
    ibv_wr_set_sge_list(a.builder, pieces.size(), pieces.data());
    a.builder->wr_id = 3;
    ibv_wr_atomic_fetch_add(a.builder, there.key, there.address + 16, 5);
    ibv_wr_set_sge(a.builder, a.region->lkey, reinterpret_cast<std::uintptr_t>(&a.memory[304]), 8);
    ASSERT_EQ(ibv_wr_complete(a.builder), 0);
    for (std::uint64_t id = 1; id <= 3; ++id) {
        const ibv_wc one = a.wait();
        EXPECT_EQ(one.status, IBV_WC_SUCCESS);
        EXPECT_EQ(one.wr_id, id);
    }
    EXPECT_EQ(std::string(&a.memory[100], 4), "1234");
    EXPECT_STREQ(&a.memory[200], "567");
    EXPECT_EQ(b.memory[16], 5);
}

TEST_F(Built, InlineDataIsTakenAtOnce) {
    ASSERT_EQ(b.post_receive(1, b.piece(0, 64)), 0);
    std::array<char, 8> words = {'h', 'e', 'l', 'l', 'o'};
    const std::array<ibv_data_buf, 2> parts = {ibv_data_buf{words.data(), 3},
                                               ibv_data_buf{words.data() + 3, 3}};
    ibv_wr_start(a.builder);
    ibv_wr_send_imm(a.builder, 7);
    ibv_wr_set_inline_data_list(a.builder, parts.size(), parts.data());
    words.fill('x');
    ASSERT_EQ(ibv_wr_complete(a.builder), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(b.wait().imm_data, 7U);
    EXPECT_STREQ(b.memory.data(), "hello");
}

TEST_F(Built, OfRequestsThatDoNotAllFitNoneIsPosted) {
    ibv_wr_start(a.builder);
    for (std::uint64_t id = 1; id <= 9; ++id) add_write(id);
    EXPECT_EQ(ibv_wr_complete(a.builder), ENOMEM);
    ibv_wr_start(a.builder);
    add_write(1);
    ibv_wr_send(a.builder);
    std::array<char, 65> too_long{};
    ibv_wr_set_inline_data(a.builder, too_long.data(), too_long.size());
    EXPECT_EQ(ibv_wr_complete(a.builder), EINVAL);
    ibv_wr_start(a.builder);
    add_write(1);
    ibv_wr_abort(a.builder);
    ibv_wr_start(a.builder);
    add_write(99);
    ASSERT_EQ(ibv_wr_complete(a.builder), 0);
    EXPECT_EQ(a.wait().wr_id, 99U) << "the first that was ever posted";
    ibv_wc more{};
    EXPECT_EQ(ibv_poll_cq(a.completions, 1, &more), 0);
}

TEST_F(Built, AnotherThreadWaitsUntilTheFirstHasPosted) {
    ibv_wr_start(a.builder);
    add_write(1);
    std::thread other([this] {
        ibv_wr_start(a.builder);
        add_write(2);
        EXPECT_EQ(ibv_wr_complete(a.builder), 0);
    });
    EXPECT_EQ(ibv_wr_complete(a.builder), 0);
    other.join();
    EXPECT_EQ(a.wait().wr_id, 1U);
    EXPECT_EQ(a.wait().wr_id, 2U);
}

TEST_F(Built, WhatAQueuePairCannotDoIsNotOffered) {
    EXPECT_EQ(a.builder->wr_send_inv, nullptr) << "not asked for";
    EXPECT_EQ(a.builder->wr_atomic_write, nullptr) << "not known";
    ibv_qp_init_attr_ex asked{};
    asked.send_cq = asked.recv_cq = a.completions;
    asked.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    asked.pd = a.domain;
    for (const auto& [type, operation] : {std::pair{IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_WRITE},
                                          std::pair{IBV_QPT_UC, IBV_QP_EX_WITH_RDMA_READ},
                                          std::pair{IBV_QPT_RC, IBV_QP_EX_WITH_TSO}}) {
        asked.qp_type = type;
        asked.send_ops_flags = operation;
        EXPECT_EQ(ibv_create_qp_ex(a.context, &asked), nullptr);
        EXPECT_EQ(errno, EOPNOTSUPP);
    }
}

TEST_F(Built, AWindowLendsItsPartUntilItIsInvalidated) {
    ibv_mr* const region = ibv_reg_mr(b.domain, b.memory.data(), b.memory.size(),
                                      End::all_rights | IBV_ACCESS_MW_BIND);
    ibv_mw* const window = ibv_alloc_mw(b.domain, IBV_MW_TYPE_1);
    ASSERT_NE(window, nullptr);
    const auto start = reinterpret_cast<std::uintptr_t>(b.memory.data()) + 4096;
    ibv_mw_bind bind{};
    bind.wr_id = 5;
    bind.bind_info = {
        .mr = region, .addr = start, .length = 64, .mw_access_flags = IBV_ACCESS_REMOTE_WRITE};
    const std::uint32_t before = window->rkey;
    ASSERT_EQ(ibv_bind_mw(b.pair, window, &bind), 0);
    EXPECT_NE(window->rkey, before);
    const ibv_wc bound = b.wait();
    EXPECT_EQ(bound.status, IBV_WC_SUCCESS);
    EXPECT_EQ(bound.opcode, IBV_WC_BIND_MW);
    EXPECT_EQ(ibv_dereg_mr(region), EBUSY);
    Contact lent = there;
    lent.address = start;
    lent.key = window->rkey;
    a.memory[0] = 'w';
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 6, a.piece(0, 64), lent), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(b.memory[4096], 'w');
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 7, a.piece(0, 65), lent), 0);
    EXPECT_EQ(a.wait().status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
    EXPECT_EQ(ibv_dereg_mr(region), 0);
}

TEST_F(Built, AWindowOfARegionThatMayNotBeLentFailsInItsCompletion) {
    ibv_mw* const window = ibv_alloc_mw(b.domain, IBV_MW_TYPE_1);
    ibv_mw_bind bind{};
    bind.bind_info = {.mr = b.region,
                      .addr = there.address,
                      .length = 64,
                      .mw_access_flags = IBV_ACCESS_REMOTE_READ};
    ASSERT_EQ(ibv_bind_mw(b.pair, window, &bind), 0);
    EXPECT_EQ(b.wait().status, IBV_WC_MW_BIND_ERR);
    EXPECT_EQ(ibv_dealloc_mw(window), 0);
}

/// Two ends. `b` has an extended completion queue that holds the completions of two receives.
class ExtendedCompletions : public ::testing::Test {
protected:
    ~ExtendedCompletions() override {
        EXPECT_EQ(ibv_destroy_qp(b.pair), 0);
        b.pair = nullptr;
        EXPECT_EQ(ibv_destroy_cq(ibv_cq_ex_to_cq(queue)), 0);
    }
    void make_queue(std::uint32_t flags = 0) {
        ibv_cq_init_attr_ex asked{};
        asked.cqe = 16;
        asked.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_QP_NUM;
        asked.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
        asked.flags = flags;
        queue = ibv_create_cq_ex(b.context, &asked);
        ASSERT_NE(queue, nullptr);
        EXPECT_EQ(ibv_destroy_qp(b.pair), 0);
        ibv_qp_init_attr made{};
        made.send_cq = made.recv_cq = ibv_cq_ex_to_cq(queue);
        made.cap = {.max_send_wr = 8,
                    .max_recv_wr = 8,
                    .max_send_sge = 1,
                    .max_recv_sge = 1,
                    .max_inline_data = 0};
        made.qp_type = IBV_QPT_RC;
        b.pair = ibv_create_qp(b.domain, &made);
        a.connect(b.contact());
        b.connect(a.contact());
    }
    void send_two() {
        for (std::uint64_t id = 1; id <= 2; ++id) {
            ASSERT_EQ(b.post_receive(id, b.piece(0, 64)), 0);
            const auto length = static_cast<std::uint32_t>(10 * id);
            ASSERT_EQ(a.post(IBV_WR_SEND, id, a.piece(0, length), {}), 0);
            EXPECT_EQ(a.wait().status, IBV_WC_SUCCESS);
        }
    }

    End a;
    End b;
    ibv_cq_ex* queue = nullptr;
    ibv_poll_cq_attr none{};
};

TEST_F(ExtendedCompletions, AreReadOneByOne) {
    make_queue();
    EXPECT_EQ(queue->read_src_qp, nullptr) << "not asked for";
    EXPECT_EQ(ibv_start_poll(queue, &none), ENOENT);
    send_two();
    ASSERT_EQ(ibv_start_poll(queue, &none), 0);
    EXPECT_EQ(queue->status, IBV_WC_SUCCESS);
    EXPECT_EQ(queue->wr_id, 1U);
    EXPECT_EQ(ibv_wc_read_opcode(queue), IBV_WC_RECV);
    EXPECT_EQ(ibv_wc_read_byte_len(queue), 10U);
    EXPECT_EQ(ibv_wc_read_qp_num(queue), b.pair->qp_num);
    ASSERT_EQ(ibv_next_poll(queue), 0);
    EXPECT_EQ(ibv_wc_read_byte_len(queue), 20U);
    EXPECT_EQ(ibv_next_poll(queue), ENOENT);
    ibv_end_poll(queue);
}

TEST_F(ExtendedCompletions, AnotherThreadStartsWhenTheFirstHasEnded) {
    make_queue();
    EXPECT_EQ(ibv_start_poll(queue, &none), ENOENT);  // the call holds no lock after that
    send_two();
    ASSERT_EQ(ibv_start_poll(queue, &none), 0);
    std::uint64_t taken = 0;
    std::thread other([&] {
        if (ibv_start_poll(queue, &none) != 0) return;
        taken = queue->wr_id;
        ibv_end_poll(queue);
    });
    // Gives the other thread time to make a mistake. The test does not depend on this time.
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(queue->wr_id, 1U);
    EXPECT_EQ(ibv_wc_read_byte_len(queue), 10U);
    ibv_end_poll(queue);
    other.join();
    EXPECT_EQ(taken, 2U);
}

TEST_F(ExtendedCompletions, WhoPromisesToLockIsNotLocked) {
    make_queue(IBV_CREATE_CQ_ATTR_SINGLE_THREADED);
    send_two();
    for (std::uint64_t id = 1; id <= 2; ++id) {
        ASSERT_EQ(ibv_start_poll(queue, &none), 0);
        EXPECT_EQ(queue->wr_id, id);
    }
    ibv_end_poll(queue);
}

TEST(ExtendedCompletionQueues, WhatIsNotKnownIsNotSupported) {
    End end;
    ibv_cq_init_attr_ex asked{};
    asked.cqe = 16;
    asked.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
    EXPECT_EQ(ibv_create_cq_ex(end.context, &asked), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    asked.wc_flags = 0;
    asked.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    asked.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    EXPECT_EQ(ibv_create_cq_ex(end.context, &asked), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
}

}  // namespace
}  // namespace wireproof::verbs::test
