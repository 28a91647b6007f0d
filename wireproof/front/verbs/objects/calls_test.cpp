// The public calls, in one process: two ends of one device. The device's socket sends their packets
// to itself.
#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

using namespace std::chrono_literals;

bool is_readable(int handle, std::int64_t milliseconds) {
    pollfd wanted{handle, POLLIN, 0};
    return ::poll(&wanted, 1, static_cast<int>(milliseconds)) == 1;
}

TEST(Verbs, ASendArrivesAndCompletesOnBothSides) {
    Pair pair;
    std::strcpy(pair.a.memory.data(), "hello");
    ASSERT_EQ(pair.b.post_receive(7, pair.b.piece(0, 100)), 0);
    ASSERT_EQ(pair.a.post(IBV_WR_SEND, 8, pair.a.piece(0, 6), pair.b.contact()), 0);
    const ibv_wc received = pair.b.wait();
    EXPECT_EQ(received.status, IBV_WC_SUCCESS);
    EXPECT_EQ(received.opcode, IBV_WC_RECV);
    EXPECT_EQ(received.wr_id, 7U);
    EXPECT_EQ(received.byte_len, 6U);
    EXPECT_EQ(received.qp_num, pair.b.pair->qp_num);
    EXPECT_EQ(received.wc_flags, 0U);
    const ibv_wc sent = pair.a.wait();
    EXPECT_EQ(sent.status, IBV_WC_SUCCESS);
    EXPECT_EQ(sent.opcode, IBV_WC_SEND);
    EXPECT_EQ(sent.wr_id, 8U);
    EXPECT_STREQ(pair.b.memory.data(), "hello");
}

// The responder holds the ACK of a request because it expects an answer from its program. If the
// queue pair ends before the answer, the requester must still receive the ACK.
TEST(Verbs, AQueuePairThatEndsSendsTheAckThatItHolds) {
    constexpr int exchanges = 4;  // after these the responder expects answers
    for (int round = 0; round < 10; ++round) {
        Pair ends;
        for (int i = 0; i <= exchanges; ++i) {
            ASSERT_EQ(ends.b.post_receive(1, ends.b.piece(0, 8)), 0);
            ASSERT_EQ(ends.a.post_receive(2, ends.a.piece(8, 8)), 0);
            ASSERT_EQ(ends.a.post(IBV_WR_SEND, 3, ends.a.piece(0, 8), {}), 0);
            ASSERT_EQ(ends.b.wait().opcode, IBV_WC_RECV);
            if (i == exchanges) break;
            ASSERT_EQ(ends.b.post(IBV_WR_SEND, 4, ends.b.piece(0, 8), {}), 0);
            ASSERT_EQ(ends.b.wait().opcode, IBV_WC_SEND);
            for (int both = 0; both < 2; ++both) {
                ASSERT_EQ(ends.a.wait().status, IBV_WC_SUCCESS);
            }
        }
        ASSERT_EQ(ibv_destroy_qp(ends.b.pair), 0);
        ends.b.pair = nullptr;
        const ibv_wc sent = ends.a.wait();
        EXPECT_EQ(sent.wr_id, 3U);
        ASSERT_EQ(sent.status, IBV_WC_SUCCESS) << round;
    }
}

TEST(Verbs, WritesReadsAndAtomicsReachTheOtherSidesMemory) {
    Pair pair;
    std::strcpy(pair.a.memory.data(), "written");
    const Contact b = pair.b.contact();
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_WRITE, 1, pair.a.piece(0, 8), b, 4096), 0);
    EXPECT_EQ(pair.a.wait().opcode, IBV_WC_RDMA_WRITE);
    EXPECT_STREQ(pair.b.memory.data() + 4096, "written");
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_READ, 2, pair.a.piece(512, 8), b, 4096), 0);
    const ibv_wc read = pair.a.wait();
    EXPECT_EQ(read.opcode, IBV_WC_RDMA_READ);
    EXPECT_EQ(read.status, IBV_WC_SUCCESS);
    EXPECT_STREQ(pair.a.memory.data() + 512, "written");

    const std::uint64_t before = 40;
    std::memcpy(pair.b.memory.data(), &before, sizeof before);
    ibv_sge piece = pair.a.piece(1024, 8);
    ibv_send_wr add{};
    add.sg_list = &piece;
    add.num_sge = 1;
    add.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
    add.wr.atomic.remote_addr = b.address;
    add.wr.atomic.rkey = b.key;
    add.wr.atomic.compare_add = 2;
    ibv_send_wr swap = add;
    swap.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
    swap.wr.atomic.compare_add = 42;
    swap.wr.atomic.swap = 77;
    add.next = &swap;
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(pair.a.pair, &add, &bad), 0);
    EXPECT_EQ(pair.a.wait().opcode, IBV_WC_FETCH_ADD);
    EXPECT_EQ(pair.a.wait().opcode, IBV_WC_COMP_SWAP);
    std::uint64_t now = 0;
    std::uint64_t returned = 0;
    std::memcpy(&now, pair.b.memory.data(), sizeof now);
    std::memcpy(&returned, pair.a.memory.data() + 1024, sizeof returned);
    EXPECT_EQ(now, 77U);
    EXPECT_EQ(returned, 42U);
}

TEST(Verbs, ImmediateDataKeepsItsByteOrder) {
    Pair pair;
    ASSERT_EQ(pair.b.post_receive(1, pair.b.piece(0, 100)), 0);
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND_WITH_IMM;
    const std::array<unsigned char, 4> bytes = {1, 2, 3, 4};
    std::memcpy(&request.imm_data, bytes.data(), bytes.size());
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(pair.a.pair, &request, &bad), 0);
    const ibv_wc received = pair.b.wait();
    EXPECT_EQ(received.wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
    EXPECT_EQ(std::memcmp(&received.imm_data, bytes.data(), bytes.size()), 0);
}

TEST(Verbs, InlineBytesNeedNoRegionAndNoLife) {
    Pair pair;
    ASSERT_EQ(pair.b.post_receive(1, pair.b.piece(0, 100)), 0);
    std::array<char, 64> bytes{"inline"};
    ibv_sge piece{reinterpret_cast<std::uintptr_t>(bytes.data()), 7, 0};
    ibv_send_wr request{};
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_INLINE;
    request.sg_list = &piece;
    request.num_sge = 1;
    ibv_send_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_send(pair.a.pair, &request, &bad), 0);
    bytes.fill('x');
    EXPECT_EQ(pair.b.wait().byte_len, 7U);
    EXPECT_STREQ(pair.b.memory.data(), "inline");
    piece.length = 65;
    EXPECT_EQ(ibv_post_send(pair.a.pair, &request, &bad), EINVAL);
    EXPECT_EQ(bad, &request);
}

TEST(Verbs, AForeignKeyEndsInAnAccessErrorAndFlushesWhatFollows) {
    Pair pair;
    Contact wrong = pair.b.contact();
    wrong.key ^= 0x100;
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_WRITE, 1, pair.a.piece(0, 8), wrong), 0);
    EXPECT_EQ(pair.a.wait().status, IBV_WC_REM_ACCESS_ERR);
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_WRITE, 2, pair.a.piece(0, 8), pair.b.contact()), 0);
    EXPECT_EQ(pair.a.wait().status, IBV_WC_WR_FLUSH_ERR);
    ibv_async_event event{};
    ASSERT_EQ(ibv_get_async_event(pair.b.context, &event), 0);
    if (event.event_type == IBV_EVENT_COMM_EST) {
        ibv_ack_async_event(&event);
        ASSERT_EQ(ibv_get_async_event(pair.b.context, &event), 0);
    }
    EXPECT_EQ(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
    EXPECT_EQ(event.element.qp, pair.b.pair);
    ibv_ack_async_event(&event);
}

TEST(Verbs, AQueryShowsStatePsnsAndAddress) {
    Pair pair;
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_WRITE, 1, pair.a.piece(0, 3000), pair.b.contact()), 0);
    EXPECT_EQ(pair.a.wait().status, IBV_WC_SUCCESS);
    ibv_qp_attr attributes{};
    ibv_qp_init_attr created{};
    ASSERT_EQ(ibv_query_qp(pair.a.pair, &attributes, IBV_QP_STATE, &created), 0);
    EXPECT_EQ(attributes.qp_state, IBV_QPS_RTS);
    EXPECT_EQ(attributes.sq_psn, (pair.a.psn + 3) & 0xFFFFFF);  // three packets of 1024 bytes
    EXPECT_EQ(attributes.dest_qp_num, pair.b.pair->qp_num);
    EXPECT_EQ(attributes.ah_attr.grh.sgid_index, 1U);
    const Contact b = pair.b.contact();
    EXPECT_EQ(std::memcmp(&attributes.ah_attr.grh.dgid, &b.gid, sizeof b.gid), 0);
    EXPECT_EQ(created.cap.max_send_wr, 64U);
    EXPECT_EQ(created.send_cq, pair.a.completions);
    EXPECT_EQ(created.sq_sig_all, 1);
}

// UCX asserts that the member still has the state that it gave.
TEST(Verbs, AQueryThatDoesNotAskForTheStateLeavesTheMemberOfTheQueuePair) {
    Pair pair;
    Contact wrong = pair.b.contact();
    ++wrong.key;
    ASSERT_EQ(pair.a.post(IBV_WR_RDMA_WRITE, 1, pair.a.piece(0, 8), wrong), 0);
    EXPECT_EQ(pair.a.wait().status, IBV_WC_REM_ACCESS_ERR);
    ibv_qp_attr attributes{};
    ibv_qp_init_attr created{};
    ASSERT_EQ(ibv_query_qp(pair.a.pair, &attributes, IBV_QP_AV | IBV_QP_DEST_QPN, &created), 0);
    EXPECT_EQ(attributes.qp_state, IBV_QPS_ERR);
    EXPECT_EQ(pair.a.pair->state, IBV_QPS_RTS);
    ASSERT_EQ(ibv_query_qp(pair.a.pair, &attributes, IBV_QP_STATE, &created), 0);
    EXPECT_EQ(pair.a.pair->state, IBV_QPS_ERR);
}

TEST(Verbs, AChannelIsReadableOnceForEachRequestForNotification) {
    Pair pair(true);
    End& a = pair.a;
    const int flags = ::fcntl(a.channel->fd, F_GETFL);
    ASSERT_EQ(::fcntl(a.channel->fd, F_SETFL, flags | O_NONBLOCK), 0);
    ibv_cq* queue = nullptr;
    void* user = nullptr;
    EXPECT_EQ(ibv_get_cq_event(a.channel, &queue, &user), -1);
    EXPECT_EQ(errno, EAGAIN);
    ASSERT_EQ(ibv_req_notify_cq(a.completions, 0), 0);
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 1, a.piece(0, 8), pair.b.contact()), 0);
    ASSERT_EQ(a.post(IBV_WR_RDMA_WRITE, 2, a.piece(0, 8), pair.b.contact()), 0);
    // No call polls: the keeper moves the packets.
    ASSERT_TRUE(is_readable(a.channel->fd, patience.count()));
    ASSERT_EQ(ibv_get_cq_event(a.channel, &queue, &user), 0);
    EXPECT_EQ(queue, a.completions);
    EXPECT_EQ(user, &a);
    EXPECT_EQ(a.wait().wr_id, 1U);
    EXPECT_EQ(a.wait().wr_id, 2U);
    EXPECT_EQ(ibv_get_cq_event(a.channel, &queue, &user), -1);
    ibv_ack_cq_events(queue, 1);
}

TEST(Verbs, ADestroyedCompletionQueueLeavesNoEventBehind) {
    End end(IBV_QPT_RC, true);
    ibv_cq* const other = ibv_create_cq(end.context, 8, nullptr, end.channel, 0);
    ASSERT_NE(other, nullptr);
    EXPECT_EQ(ibv_destroy_comp_channel(end.channel), EBUSY);
    ibv_qp_init_attr asked{};
    asked.send_cq = asked.recv_cq = other;
    asked.cap.max_recv_wr = 1;
    asked.cap.max_recv_sge = 1;
    asked.qp_type = IBV_QPT_RC;
    ibv_qp* const pair = ibv_create_qp(end.domain, &asked);
    ASSERT_NE(pair, nullptr);
    EXPECT_EQ(ibv_destroy_cq(other), EBUSY);
    ASSERT_EQ(ibv_req_notify_cq(other, 0), 0);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_INIT;
    attributes.port_num = 1;
    ASSERT_EQ(ibv_modify_qp(pair, &attributes,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
              0);
    ibv_recv_wr request{};
    ibv_recv_wr* bad = nullptr;
    ASSERT_EQ(ibv_post_recv(pair, &request, &bad), 0);
    attributes.qp_state = IBV_QPS_ERR;
    ASSERT_EQ(ibv_modify_qp(pair, &attributes, IBV_QP_STATE), 0);  // the receive is flushed
    EXPECT_TRUE(is_readable(end.channel->fd, 0));
    ASSERT_EQ(ibv_destroy_qp(pair), 0);
    ASSERT_EQ(ibv_destroy_cq(other), 0);
    EXPECT_FALSE(is_readable(end.channel->fd, 0));
}

TEST(Verbs, WhatIsBeyondALimitIsRefusedWithoutTakingMemory) {
    End end;
    EXPECT_EQ(ibv_create_cq(end.context, limits::completions + 1, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(ibv_create_cq(end.context, 0, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(ibv_create_cq(end.context, 1, nullptr, nullptr, 1), nullptr);
    const auto refused = [&](std::uint32_t ibv_qp_cap::*capacity, std::uint32_t amount) {
        ibv_qp_init_attr asked{};
        asked.send_cq = asked.recv_cq = end.completions;
        asked.cap.*capacity = amount;
        asked.qp_type = IBV_QPT_RC;
        errno = 0;
        return ibv_create_qp(end.domain, &asked) == nullptr && errno == EINVAL;
    };
    EXPECT_TRUE(refused(&ibv_qp_cap::max_send_wr, limits::work_requests + 1));
    EXPECT_TRUE(refused(&ibv_qp_cap::max_recv_wr, ~0U));
    EXPECT_TRUE(refused(&ibv_qp_cap::max_send_sge, limits::pieces + 1));
    EXPECT_TRUE(refused(&ibv_qp_cap::max_recv_sge, limits::pieces + 1));
    EXPECT_TRUE(refused(&ibv_qp_cap::max_inline_data, limits::inline_data + 1));
    ibv_srq_init_attr shared{};
    shared.attr.max_wr = limits::work_requests + 1;
    EXPECT_EQ(ibv_create_srq(end.domain, &shared), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST(Verbs, AQueuePairOfAKindThatThereIsNotIsNotSupported) {
    End end;
    ibv_qp_init_attr asked{};
    asked.send_cq = asked.recv_cq = end.completions;
    asked.qp_type = IBV_QPT_RAW_PACKET;
    EXPECT_EQ(ibv_create_qp(end.domain, &asked), nullptr);
    EXPECT_EQ(errno, EOPNOTSUPP);
    EXPECT_EQ(ibv_qp_to_qp_ex(end.pair), nullptr);
}

TEST(Verbs, AQueuePairReportsItsActualCapabilities) {
    End end;
    ibv_qp_init_attr asked{};
    asked.send_cq = asked.recv_cq = end.completions;
    asked.qp_type = IBV_QPT_UC;
    asked.cap.max_recv_sge = 3;
    ibv_qp* const pair = ibv_create_qp(end.domain, &asked);
    ASSERT_NE(pair, nullptr);
    EXPECT_EQ(asked.cap.max_send_wr, 1U);
    EXPECT_EQ(asked.cap.max_recv_wr, 1U);
    EXPECT_EQ(asked.cap.max_send_sge, 3U);
    EXPECT_EQ(ibv_destroy_qp(pair), 0);
}

TEST(Verbs, WithSharedReceivesTheSizesOfAnOwnReceiveQueueAreIgnored) {
    const End end;
    ibv_srq_init_attr wanted{.srq_context = nullptr, .attr = {1, 1, 0}};
    ibv_srq* const queue = ibv_create_srq(end.domain, &wanted);
    ASSERT_NE(queue, nullptr);
    ibv_qp_init_attr asked{};
    asked.send_cq = asked.recv_cq = end.completions;
    asked.srq = queue;
    asked.qp_type = IBV_QPT_RC;
    asked.cap.max_recv_wr = 1U << 30;
    asked.cap.max_recv_sge = 1U << 20;
    ibv_qp* const pair = ibv_create_qp(end.domain, &asked);
    ASSERT_NE(pair, nullptr) << std::strerror(errno);
    EXPECT_EQ(asked.cap.max_send_sge, 1U);
    EXPECT_EQ(asked.cap.max_recv_sge, 0U);
    EXPECT_EQ(ibv_destroy_qp(pair), 0);
    EXPECT_EQ(ibv_destroy_srq(queue), 0);
}

TEST(Verbs, WorkIsRefusedInTheStatesInWhichAnAdapterRefusesIt) {
    End end;
    const Contact self = end.contact();
    EXPECT_EQ(end.post_receive(1, end.piece(0, 8)), EINVAL);  // RESET
    EXPECT_EQ(end.post(IBV_WR_SEND, 1, end.piece(0, 8), self), EINVAL);
    ASSERT_EQ(end.to_init(), 0);
    EXPECT_EQ(end.post_receive(1, end.piece(0, 8)), 0);
    EXPECT_EQ(end.post(IBV_WR_SEND, 1, end.piece(0, 8), self), EINVAL);
    int posted = 1;
    while (posted < 1000 && end.post_receive(2, end.piece(0, 8)) == 0) ++posted;
    EXPECT_EQ(posted, 64);
    EXPECT_EQ(end.post_receive(2, end.piece(0, 8)), ENOMEM);
    EXPECT_EQ(end.to_init(), 0);  // again
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    EXPECT_EQ(ibv_modify_qp(end.pair, &attributes, IBV_QP_STATE), EINVAL);
}

TEST(Verbs, APeerWithoutAGidIsRefused) {
    End end;
    ASSERT_EQ(end.to_init(), 0);
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTR;
    attributes.path_mtu = IBV_MTU_1024;
    attributes.max_dest_rd_atomic = 1;
    attributes.ah_attr.port_num = 1;
    EXPECT_EQ(ibv_modify_qp(end.pair, &attributes,
                            IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
              EINVAL);
}

TEST(Verbs, ADomainStaysWhileSomethingIsInIt) {
    End end;
    EXPECT_EQ(ibv_dealloc_pd(end.domain), EBUSY);
}

TEST(Verbs, SharedReceivesTellWhenFewAreLeft) {
    End sender;
    End other;  // owns the objects that the receiver uses
    ibv_srq_init_attr shared{};
    shared.attr.max_wr = 4;
    shared.attr.max_sge = 1;
    ibv_srq* const queue = ibv_create_srq(other.domain, &shared);
    ASSERT_NE(queue, nullptr);
    ASSERT_EQ(ibv_destroy_qp(other.pair), 0);
    ibv_qp_init_attr asked{};
    asked.send_cq = asked.recv_cq = other.completions;
    asked.srq = queue;
    asked.qp_type = IBV_QPT_RC;
    other.pair = ibv_create_qp(other.domain, &asked);
    ASSERT_NE(other.pair, nullptr);
    EXPECT_EQ(ibv_destroy_srq(queue), EBUSY);
    sender.connect(other.contact());
    other.connect(sender.contact());
    ibv_sge piece = other.piece(0, 100);
    ibv_recv_wr request{};
    request.sg_list = &piece;
    request.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    for (int i = 0; i < 4; ++i) ASSERT_EQ(ibv_post_srq_recv(queue, &request, &bad), 0);
    EXPECT_EQ(ibv_post_srq_recv(queue, &request, &bad), ENOMEM);
    EXPECT_EQ(bad, &request);
    ibv_srq_attr attributes{};
    attributes.srq_limit = 4;
    ASSERT_EQ(ibv_modify_srq(queue, &attributes, IBV_SRQ_LIMIT), 0);
    attributes.max_wr = 3;
    EXPECT_EQ(ibv_modify_srq(queue, &attributes, IBV_SRQ_MAX_WR), EINVAL);
    attributes.max_wr = 16;
    EXPECT_EQ(ibv_modify_srq(queue, &attributes, IBV_SRQ_MAX_WR), 0);
    ASSERT_EQ(ibv_query_srq(queue, &attributes), 0);
    EXPECT_EQ(attributes.max_wr, 16U);
    EXPECT_EQ(attributes.srq_limit, 4U);
    ASSERT_EQ(sender.post(IBV_WR_SEND, 1, sender.piece(0, 8), other.contact()), 0);
    EXPECT_EQ(other.wait().status, IBV_WC_SUCCESS);
    ibv_async_event event{};
    do {
        ASSERT_EQ(ibv_get_async_event(other.context, &event), 0);
        ibv_ack_async_event(&event);
    } while (event.event_type == IBV_EVENT_COMM_EST);
    EXPECT_EQ(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
    EXPECT_EQ(event.element.srq, queue);
    ASSERT_EQ(ibv_destroy_qp(other.pair), 0);
    other.pair = nullptr;
    EXPECT_EQ(ibv_destroy_srq(queue), 0);
}

TEST(Verbs, StructuresOfEachLengthAreFilled) {
    End end;
    struct {
        ibv_port_attr known;
        std::array<unsigned char, 16> later;
    } longer;
    std::memset(&longer, 0xEE, sizeof longer);
    verbs_context* const table = verbs_get_ctx(end.context);
    auto* const attributes = reinterpret_cast<ibv_port_attr*>(&longer);
    ASSERT_EQ(table->query_port(end.context, 1, attributes, sizeof longer), 0);
    EXPECT_EQ(longer.known.state, IBV_PORT_ACTIVE);
    EXPECT_EQ(longer.known.gid_tbl_len, 2);
    EXPECT_EQ(longer.known.flags, IBV_QPF_GRH_REQUIRED);
    for (const unsigned char byte : longer.later) EXPECT_EQ(byte, 0);
    std::memset(&longer, 0xEE, sizeof longer);
    ASSERT_EQ(table->query_port(end.context, 1, attributes, 8), 0);
    EXPECT_EQ(reinterpret_cast<unsigned char*>(&longer)[8], 0xEE);
    EXPECT_EQ(table->query_port(end.context, 2, attributes, sizeof longer), EINVAL);
    ibv_device_attr_ex device{};
    ASSERT_EQ(ibv_query_device_ex(end.context, nullptr, &device), 0);
    EXPECT_NE(device.device_cap_flags_ex, 0U);
    EXPECT_EQ(device.device_cap_flags_ex, device.orig_attr.device_cap_flags);
}

TEST(Verbs, EveryGidIsOfRocev2AndOfTheDevicesInterface) {
    End end;
    std::array<ibv_gid_entry, 4> entries{};
    ASSERT_EQ(ibv_query_gid_table(end.context, entries.data(), entries.size(), 0), 2);
    for (std::uint32_t index = 0; index < 2; ++index) {
        EXPECT_EQ(entries[index].gid_type, static_cast<unsigned>(IBV_GID_TYPE_ROCE_V2));
        EXPECT_NE(entries[index].ndev_ifindex, 0U);
        ibv_gid_entry one{};
        ASSERT_EQ(ibv_query_gid_ex(end.context, 1, index, &one, 0), 0);
        EXPECT_EQ(std::memcmp(&one, &entries[index], sizeof one), 0);
        unsigned type = 0;
        EXPECT_EQ(ibv_query_gid_type(end.context, 1, index, &type), 0);
        EXPECT_EQ(type, 1U);
    }
    EXPECT_EQ(ibv_query_gid_table(end.context, entries.data(), 1, 0), -EINVAL);
    ibv_gid gid{};
    EXPECT_EQ(ibv_query_gid(end.context, 1, 2, &gid), -1);
    EXPECT_EQ(ibv_query_gid(end.context, 1, -1, &gid), -1);
    EXPECT_EQ(ibv_query_gid(end.context, 2, 0, &gid), -1);
}

TEST(Verbs, AContextThatIsClosedWithObjectsLeavesTheOthersAlone) {
    End kept;
    ibv_context* const context = open_device();
    ibv_pd* const domain = ibv_alloc_pd(context);
    ibv_cq* const queue = ibv_create_cq(context, 8, nullptr, nullptr, 0);
    ibv_qp_init_attr asked{};
    asked.send_cq = asked.recv_cq = queue;
    asked.qp_type = IBV_QPT_RC;
    ibv_qp* const pair = ibv_create_qp(domain, &asked);
    ASSERT_NE(pair, nullptr);
    static std::array<void*, 3> left_behind;  // keeps the leaked objects reachable
    left_behind = {domain, queue, pair};
    ASSERT_EQ(ibv_close_device(context), 0);
    EXPECT_EQ(kept.to_init(), 0);
}

}  // namespace
}  // namespace wireproof::verbs::test
