#include "wireproof/front/verbs/objects/attributes.hpp"

#include <gtest/gtest.h>

namespace wireproof::verbs {
namespace {

ibv_qp_attr distinct_values() {
    ibv_qp_attr given{};
    given.qp_state = IBV_QPS_RTS;
    given.cur_qp_state = IBV_QPS_RTR;
    given.path_mtu = IBV_MTU_2048;
    given.qkey = 0x11111111;
    given.rq_psn = 0xAB000003;
    given.sq_psn = 0xFF000004;
    given.dest_qp_num = 5;
    given.qp_access_flags = IBV_ACCESS_REMOTE_READ;
    given.max_rd_atomic = 6;
    given.max_dest_rd_atomic = 7;
    given.min_rnr_timer = 8;
    given.port_num = 1;
    given.timeout = 9;
    given.retry_cnt = 3;
    given.rnr_retry = 4;
    given.en_sqd_async_notify = 1;
    return given;
}

TEST(VerbsAttributes, EachBitOfTheMaskTakesItsValueAndNoOther) {
    const ibv_qp_attr given = distinct_values();
    using proto::ib::Attribute;
    const std::array<std::pair<int, Attribute>, 16> bits = {{
        {IBV_QP_CUR_STATE, Attribute::current_state},
        {IBV_QP_EN_SQD_ASYNC_NOTIFY, Attribute::drained_notify},
        {IBV_QP_ACCESS_FLAGS, Attribute::access},
        {IBV_QP_PKEY_INDEX, Attribute::partition_index},
        {IBV_QP_PORT, Attribute::port},
        {IBV_QP_QKEY, Attribute::qkey},
        {IBV_QP_PATH_MTU, Attribute::path_mtu},
        {IBV_QP_TIMEOUT, Attribute::timeout},
        {IBV_QP_RETRY_CNT, Attribute::retry_count},
        {IBV_QP_RNR_RETRY, Attribute::rnr_retry},
        {IBV_QP_RQ_PSN, Attribute::receive_psn},
        {IBV_QP_SQ_PSN, Attribute::send_psn},
        {IBV_QP_MAX_QP_RD_ATOMIC, Attribute::max_rd_atomic},
        {IBV_QP_MAX_DEST_RD_ATOMIC, Attribute::max_dest_rd_atomic},
        {IBV_QP_MIN_RNR_TIMER, Attribute::min_rnr_timer},
        {IBV_QP_DEST_QPN, Attribute::dest_queue_pair},
    }};
    for (const auto& [bit, attribute] : bits) {
        const auto change = change_of(given, bit);
        ASSERT_TRUE(change) << bit;
        EXPECT_EQ(change->given(), proto::ib::AttributeSet{attribute}) << bit;
        EXPECT_FALSE(change->state) << bit;
    }
    EXPECT_EQ(change_of(given, IBV_QP_STATE)->state, proto::ib::QueuePairState::rts);
}

TEST(VerbsAttributes, ValuesArriveAsTheEngineCountsThem) {
    const auto change =
        change_of(distinct_values(), IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN |
                                         IBV_QP_ACCESS_FLAGS | IBV_QP_TIMEOUT | IBV_QP_CUR_STATE);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->path_mtu, 2048U);
    EXPECT_EQ(change->receive_psn->value(), 3U);  // PSNs have 24 bits
    EXPECT_EQ(change->send_psn->value(), 4U);
    EXPECT_EQ(change->access, (proto::ib::Access{.remote_read = true}));
    EXPECT_EQ(change->timeout, 9U);
    EXPECT_EQ(change->current_state, proto::ib::QueuePairState::rtr);
}

TEST(VerbsAttributes, WhatMeansNothingIsRefused) {
    ibv_qp_attr given = distinct_values();
    EXPECT_FALSE(change_of(given, IBV_QP_ALT_PATH));
    EXPECT_FALSE(change_of(given, IBV_QP_PATH_MIG_STATE));
    EXPECT_FALSE(change_of(given, IBV_QP_RATE_LIMIT));
    EXPECT_FALSE(change_of(given, 1 << 30));
    given.port_num = 2;
    EXPECT_FALSE(change_of(given, IBV_QP_PORT));
    given.path_mtu = static_cast<ibv_mtu>(0);
    EXPECT_FALSE(change_of(given, IBV_QP_PATH_MTU));
    given.path_mtu = static_cast<ibv_mtu>(6);
    EXPECT_FALSE(change_of(given, IBV_QP_PATH_MTU));
    given.qp_state = IBV_QPS_UNKNOWN;
    EXPECT_FALSE(change_of(given, IBV_QP_STATE));
    given.max_rd_atomic = 129;
    EXPECT_FALSE(change_of(given, IBV_QP_MAX_QP_RD_ATOMIC));
    given.max_dest_rd_atomic = 17;
    EXPECT_FALSE(change_of(given, IBV_QP_MAX_DEST_RD_ATOMIC));
}

TEST(VerbsAttributes, OfRightsOnlyThoseThatTheDeviceKnowsCount) {
    ibv_qp_attr given = distinct_values();
    for (const unsigned other : {unsigned{IBV_ACCESS_ON_DEMAND}, unsigned{IBV_ACCESS_ZERO_BASED},
                                 unsigned{IBV_ACCESS_HUGETLB}, 1U << 8, 1U << 9, 1U << 31}) {
        given.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | other;
        const auto change = change_of(given, IBV_QP_ACCESS_FLAGS);
        ASSERT_TRUE(change) << other;
        EXPECT_EQ(change->access, (proto::ib::Access{.remote_write = true})) << other;
    }
}

TEST(VerbsAttributes, AProgramMayHaveAsManyReadsOutstandingAsSoftRoceKeeps) {
    ibv_qp_attr given = distinct_values();
    given.max_rd_atomic = 128;
    const auto change = change_of(given, IBV_QP_MAX_QP_RD_ATOMIC);
    ASSERT_TRUE(change);
    EXPECT_EQ(change->max_rd_atomic, 128U);
}

TEST(VerbsAttributes, AQueryReturnsTheAttributesThatWereSet) {
    const ibv_qp_attr given = distinct_values();
    proto::ib::QueuePairCore core{proto::ib::QueuePairConfig{}};
    auto change = change_of(
        given, IBV_QP_ACCESS_FLAGS | IBV_QP_PORT | IBV_QP_QKEY | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT |
                   IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_DEST_QPN);
    ASSERT_TRUE(change);
    core.apply(*change);
    core.set_state(proto::ib::QueuePairState::sqd);
    const ibv_qp_attr told =
        shown(core, {.send = proto::ib::Psn(0xFFFFFF), .receive = proto::ib::Psn(12)});
    EXPECT_EQ(told.qp_state, IBV_QPS_SQD);
    EXPECT_EQ(told.cur_qp_state, IBV_QPS_SQD);
    EXPECT_EQ(told.sq_psn, 0xFFFFFFU);
    EXPECT_EQ(told.rq_psn, 12U);
    EXPECT_EQ(told.qp_access_flags, given.qp_access_flags);
    EXPECT_EQ(told.qkey, given.qkey);
    EXPECT_EQ(told.path_mtu, given.path_mtu);
    EXPECT_EQ(told.timeout, given.timeout);
    EXPECT_EQ(told.retry_cnt, given.retry_cnt);
    EXPECT_EQ(told.rnr_retry, given.rnr_retry);
    EXPECT_EQ(told.max_rd_atomic, given.max_rd_atomic);
    EXPECT_EQ(told.max_dest_rd_atomic, given.max_dest_rd_atomic);
    EXPECT_EQ(told.min_rnr_timer, given.min_rnr_timer);
    EXPECT_EQ(told.dest_qp_num, given.dest_qp_num);
    EXPECT_EQ(told.port_num, given.port_num);
}

TEST(VerbsAttributes, StatesHaveOneNameEachWay) {
    for (int state = IBV_QPS_RESET; state <= IBV_QPS_ERR; ++state) {
        EXPECT_EQ(shown(state_of(static_cast<ibv_qp_state>(state))), state);
    }
    EXPECT_EQ(state_of(IBV_QPS_SQE), proto::ib::QueuePairState::sqe);
    EXPECT_EQ(state_of(IBV_QPS_ERR), proto::ib::QueuePairState::error);
}

TEST(VerbsAttributes, AnMtuIsTheLongestThatFits) {
    EXPECT_EQ(mtu_of(256), IBV_MTU_256);
    EXPECT_EQ(mtu_of(1024), IBV_MTU_1024);
    EXPECT_EQ(mtu_of(4096), IBV_MTU_4096);
    EXPECT_EQ(bytes_of(IBV_MTU_512), 512U);
}

}  // namespace
}  // namespace wireproof::verbs
