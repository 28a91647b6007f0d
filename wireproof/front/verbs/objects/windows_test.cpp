// Memory windows of type 2. A posted request binds one for one queue pair. An invalidation from
// either side ends it.
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

constexpr std::size_t lent_at = 4096;
constexpr std::uint32_t lent = 64;  // bytes

/// `b` has a window and a region to which it can be bound. `a` is its peer.
class Windows : public ::testing::Test {
protected:
    Windows() {
        region = ibv_reg_mr(ends.b.domain, ends.b.memory.data(), ends.b.memory.size(),
                            IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
        window = ibv_alloc_mw(ends.b.domain, IBV_MW_TYPE_2);
        EXPECT_NE(window, nullptr);
        key = ibv_inc_rkey(window->rkey);
    }
    ~Windows() override {
        EXPECT_EQ(ibv_dealloc_mw(window), 0);
        EXPECT_EQ(ibv_dereg_mr(region), 0);
    }

    ibv_mw_bind_info part(unsigned access = IBV_ACCESS_REMOTE_WRITE) const {
        return {.mr = region,
                .addr = reinterpret_cast<std::uintptr_t>(ends.b.memory.data()) + lent_at,
                .length = lent,
                .mw_access_flags = access};
    }
    static int post(End& end, ibv_wr_opcode opcode, ibv_send_wr request) {
        request.opcode = opcode;
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(end.pair, &request, &bad);
    }
    int post_bind(const ibv_mw_bind_info& info, ibv_mw* of) {
        ibv_send_wr request{};
        request.bind_mw = {.mw = of, .rkey = key, .bind_info = info};
        return post(ends.b, IBV_WR_BIND_MW, request);
    }
    ibv_wc bind(const ibv_mw_bind_info& info) {
        EXPECT_EQ(post_bind(info, window), 0);
        return ends.b.wait();
    }
    ibv_wc invalidate(End& end, ibv_wr_opcode opcode, std::uint32_t which) {
        ibv_send_wr request{};
        request.invalidate_rkey = which;
        EXPECT_EQ(post(end, opcode, request), 0);
        return end.wait();
    }
    /// The status of a peer's operation that uses the window's key.
    ibv_wc_status use(End& by, ibv_wr_opcode opcode, std::uint32_t length = lent,
                      std::size_t at = 0) const {
        Contact to{};
        to.address = part().addr;
        to.key = key;
        EXPECT_EQ(by.post(opcode, 9, by.piece(0, length), to, at), 0);
        return by.wait().status;
    }

    Pair ends;
    ibv_mr* region = nullptr;
    ibv_mw* window = nullptr;
    std::uint32_t key = 0;
};

TEST_F(Windows, APostedBindLendsAPartUnderTheKeyThatItNames) {
    const ibv_wc bound = bind(part());
    EXPECT_EQ(bound.status, IBV_WC_SUCCESS);
    EXPECT_EQ(bound.opcode, IBV_WC_BIND_MW);
    ends.a.memory[lent - 1] = 'w';
    EXPECT_EQ(use(ends.a, IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
    EXPECT_EQ(ends.b.memory[lent_at + lent - 1], 'w');
    EXPECT_EQ(use(ends.a, IBV_WR_RDMA_WRITE, lent, 1), IBV_WC_REM_ACCESS_ERR);
}

// An adapter has executed the Write by then.
TEST_F(Windows, EndAfterTheWritesThatHaveArrived) {
    const auto write = [this] {
        Contact to{};
        to.address = part().addr;
        to.key = key;
        ASSERT_EQ(ends.a.post(IBV_WR_RDMA_WRITE, 9, ends.a.piece(0, lent), to), 0);
    };
    ASSERT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    write();
    ASSERT_EQ(invalidate(ends.b, IBV_WR_LOCAL_INV, key).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ends.a.wait().status, IBV_WC_SUCCESS);
    key = ibv_inc_rkey(key);
    ASSERT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    write();
    ASSERT_EQ(ibv_dealloc_mw(window), 0);
    window = ibv_alloc_mw(ends.b.domain, IBV_MW_TYPE_2);
    EXPECT_EQ(ends.a.wait().status, IBV_WC_SUCCESS);
}

TEST_F(Windows, HaveTheRightsOfTheirBind) {
    EXPECT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(use(ends.a, IBV_WR_RDMA_READ), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, MayCountAddressesFromZero) {
    EXPECT_EQ(bind(part(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED)).status, IBV_WC_SUCCESS);
    Contact to{};
    to.key = key;
    ends.a.memory[0] = 'z';
    ASSERT_EQ(ends.a.post(IBV_WR_RDMA_WRITE, 1, ends.a.piece(0, lent), to), 0);
    EXPECT_EQ(ends.a.wait().status, IBV_WC_SUCCESS);
    EXPECT_EQ(ends.b.memory[lent_at], 'z');
}

TEST_F(Windows, ASendWithInvalidateEndsTheKeyAndNotifiesTheReceiver) {
    EXPECT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    ASSERT_EQ(ends.b.post_receive(1, ends.b.piece(0, 8)), 0);
    EXPECT_EQ(invalidate(ends.a, IBV_WR_SEND_WITH_INV, key).status, IBV_WC_SUCCESS);
    const ibv_wc received = ends.b.wait();
    EXPECT_EQ(received.status, IBV_WC_SUCCESS);
    EXPECT_EQ(received.wc_flags & IBV_WC_WITH_INV, unsigned{IBV_WC_WITH_INV});
    EXPECT_EQ(received.invalidated_rkey, key);
    EXPECT_EQ(use(ends.a, IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, ALocalInvalidationEndsTheKeyAndAnotherBindFollows) {
    EXPECT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    const ibv_wc ended = invalidate(ends.b, IBV_WR_LOCAL_INV, key);
    EXPECT_EQ(ended.status, IBV_WC_SUCCESS);
    EXPECT_EQ(ended.opcode, IBV_WC_LOCAL_INV);
    const std::uint32_t old = key;
    key = ibv_inc_rkey(key);
    EXPECT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(use(ends.a, IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
    key = old;
    EXPECT_EQ(use(ends.a, IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
}

TEST_F(Windows, OneThatIsBoundIsNotBoundAgain) {
    EXPECT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    key = ibv_inc_rkey(key);
    EXPECT_EQ(bind(part()).status, IBV_WC_MW_BIND_ERR);
    EXPECT_EQ(bind(part()).status, IBV_WC_WR_FLUSH_ERR);  // the queue pair is in error
}

/// `b` has a second queue pair in the same protection domain, with another peer.
class TwoPeers : public Windows {
protected:
    TwoPeers() {
        ibv_qp_init_attr asked{};
        asked.send_cq = asked.recv_cq = ends.b.completions;
        asked.cap = {8, 8, 1, 1, 0};
        asked.qp_type = IBV_QPT_RC;
        first = ends.b.pair;
        ends.b.pair = second = ibv_create_qp(ends.b.domain, &asked);
        other.connect(ends.b.contact());
        ends.b.connect(other.contact());
        ends.b.pair = first;
    }
    ~TwoPeers() override { EXPECT_EQ(ibv_destroy_qp(second), 0); }

    End other;
    ibv_qp* first = nullptr;
    ibv_qp* second = nullptr;
};

TEST_F(TwoPeers, OneOfAnotherQueuePairMayNotUseTheKey) {
    EXPECT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(use(other, IBV_WR_RDMA_WRITE), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(use(ends.a, IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
}

TEST_F(TwoPeers, OneOfAnotherQueuePairMayNotEndTheKey) {
    EXPECT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    ends.b.pair = second;
    ASSERT_EQ(ends.b.post_receive(1, ends.b.piece(0, 8)), 0);
    ends.b.pair = first;
    EXPECT_EQ(invalidate(other, IBV_WR_SEND_WITH_INV, key).status, IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(use(ends.a, IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
}

TEST_F(TwoPeers, TheOtherQueuePairItselfMayNotEndTheKey) {
    EXPECT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    ends.b.pair = second;
    EXPECT_EQ(invalidate(ends.b, IBV_WR_LOCAL_INV, key).status, IBV_WC_LOC_PROT_ERR);
    ends.b.pair = first;
    EXPECT_EQ(use(ends.a, IBV_WR_RDMA_WRITE), IBV_WC_SUCCESS);
}

TEST_F(Windows, AKeyOfARegionIsNotEndedByEitherSide) {
    ASSERT_EQ(ends.b.post_receive(1, ends.b.piece(0, 8)), 0);
    EXPECT_EQ(invalidate(ends.a, IBV_WR_SEND_WITH_INV, ends.b.region->rkey).status,
              IBV_WC_REM_ACCESS_ERR);
    Pair again;
    EXPECT_EQ(invalidate(again.b, IBV_WR_LOCAL_INV, again.b.region->rkey).status,
              IBV_WC_LOC_PROT_ERR);
}

TEST_F(Windows, ABindThatAskedForTooMuchFailsInItsCompletion) {
    ibv_mw_bind_info info = part();
    info.length = ends.b.memory.size() - lent_at + 1;
    EXPECT_EQ(bind(info).status, IBV_WC_MW_BIND_ERR);
}

TEST_F(Windows, ARegionWithoutTheRightIsNotLent) {
    ibv_mw_bind_info info = part();
    info.mr = ends.b.region;  // no IBV_ACCESS_MW_BIND
    EXPECT_EQ(bind(info).status, IBV_WC_MW_BIND_ERR);
}

TEST_F(Windows, ARegionThatMayNotBeWrittenIsNotLentForWrites) {
    ibv_mr* const readable = ibv_reg_mr(ends.b.domain, ends.b.memory.data(), 8192,
                                        IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
    ibv_mw_bind_info info = part();
    info.mr = readable;
    EXPECT_EQ(bind(info).status, IBV_WC_MW_BIND_ERR);
    EXPECT_EQ(ibv_dereg_mr(readable), 0);
}

TEST_F(Windows, ARegionOfAnotherDomainIsNotLent) {
    ibv_pd* const domain = ibv_alloc_pd(ends.b.context);
    ibv_mr* const foreign =
        ibv_reg_mr(domain, ends.b.memory.data(), 8192, End::all_rights | IBV_ACCESS_MW_BIND);
    ibv_mw_bind_info info = part();
    info.mr = foreign;
    EXPECT_EQ(bind(info).status, IBV_WC_MW_BIND_ERR);
    EXPECT_EQ(ibv_dereg_mr(foreign), 0);
    EXPECT_EQ(ibv_dealloc_pd(domain), 0);
}

TEST_F(Windows, WhatCannotBePostedIsRefusedAtOnce) {
    EXPECT_EQ(post_bind(part(), nullptr), EINVAL);
    EXPECT_EQ(post_bind(part(IBV_ACCESS_MW_BIND), window), EINVAL);
    ibv_mw_bind bind{};
    bind.bind_info = part();
    EXPECT_EQ(ibv_bind_mw(ends.b.pair, window, &bind), EINVAL) << "it is for type 1";
    EXPECT_EQ(ibv_alloc_mw(ends.b.domain, static_cast<ibv_mw_type>(3)), nullptr);
    EXPECT_EQ(errno, EINVAL);
    End datagrams(IBV_QPT_UD);
    ibv_send_wr request{};
    request.bind_mw = {.mw = window, .rkey = key, .bind_info = part()};
    EXPECT_EQ(post(datagrams, IBV_WR_BIND_MW, request), EINVAL);
}

TEST_F(Windows, EndWithTheirQueuePair) {
    EXPECT_EQ(bind(part()).status, IBV_WC_SUCCESS);
    EXPECT_EQ(ibv_dereg_mr(region), EBUSY);
    EXPECT_EQ(ibv_destroy_qp(ends.b.pair), 0);
    ends.b.pair = nullptr;
    ibv_mr* const gone = region;
    region = ibv_reg_mr(ends.b.domain, ends.b.memory.data(), 8, 0);
    EXPECT_EQ(ibv_dereg_mr(gone), 0);
}

}  // namespace
}  // namespace wireproof::verbs::test
