// What has arrived is executed before a region changes or a queue pair ends.
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

/// `a` writes to memory of `b`, and then `b` takes something away. An adapter would have executed
/// the Write by then.
class VerbsEnding : public testing::Test {
protected:
    void write() {
        std::strcpy(ends.a.memory.data(), "written");
        ASSERT_EQ(ends.a.post(IBV_WR_RDMA_WRITE, 1, ends.a.piece(0, 8), ends.b.contact(), 4096), 0);
    }
    void expect_written() {
        EXPECT_EQ(ends.a.wait().status, IBV_WC_SUCCESS);
        EXPECT_STREQ(ends.b.memory.data() + 4096, "written");
    }
    void modify(ibv_qp_state state) {
        ibv_qp_attr attributes{};
        attributes.qp_state = state;
        ASSERT_EQ(ibv_modify_qp(ends.b.pair, &attributes, IBV_QP_STATE), 0);
    }
    void reregister(int flags, int access) {
        ASSERT_EQ(ibv_rereg_mr(ends.b.region, flags, nullptr, ends.b.memory.data(), 4096, access),
                  0);
    }
    Pair ends;
};

TEST_F(VerbsEnding, OfARegionComesAfterTheWritesThatHaveArrived) {
    write();
    ASSERT_EQ(ibv_dereg_mr(ends.b.region), 0);
    ends.b.region = ibv_reg_mr(ends.b.domain, ends.b.memory.data(), 4096, End::all_rights);
    expect_written();
}

TEST_F(VerbsEnding, OfTheRightsOfARegionComesAfterTheWritesThatHaveArrived) {
    write();
    reregister(IBV_REREG_MR_CHANGE_ACCESS, IBV_ACCESS_LOCAL_WRITE);
    expect_written();
    write();
    EXPECT_EQ(ends.a.wait().status, IBV_WC_REM_ACCESS_ERR);
}

TEST_F(VerbsEnding, OfAPartOfARegionComesAfterTheWritesThatHaveArrived) {
    write();
    reregister(IBV_REREG_MR_CHANGE_TRANSLATION, 0);
    expect_written();
}

TEST_F(VerbsEnding, OfAQueuePairComesAfterTheWritesThatHaveArrived) {
    write();
    ASSERT_EQ(ibv_destroy_qp(ends.b.pair), 0);
    ends.b.pair = nullptr;
    expect_written();
}

TEST_F(VerbsEnding, OfAConnectionComesAfterTheWritesThatHaveArrived) {
    write();
    modify(IBV_QPS_ERR);
    expect_written();
}

TEST_F(VerbsEnding, ByAResetComesAfterTheWritesThatHaveArrived) {
    write();
    modify(IBV_QPS_RESET);
    expect_written();
}

}  // namespace
}  // namespace wireproof::verbs::test
