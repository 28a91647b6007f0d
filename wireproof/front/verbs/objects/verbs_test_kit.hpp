// One end of a program that uses verbs. It uses only the public calls.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "wireproof/front/verbs/abi/api.hpp"

namespace wireproof::verbs::test {

/// It only ends a test that hangs.
inline constexpr std::chrono::milliseconds patience(120'000);

/// The code of an acknowledgement timeout of hours. No packet is sent again because a thread had no
/// processor.
inline constexpr std::uint8_t never_again = 31;

/// One process sends this to the other as bytes.
struct Contact {
    std::uint32_t queue_pair;
    std::uint32_t psn;
    ibv_gid gid;
    std::uint64_t address;
    std::uint32_t key;
};

inline ibv_context* open_device() {
    ibv_device** const list = ibv_get_device_list(nullptr);
    ibv_context* const context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    return context;
}

struct End {
    explicit End(ibv_qp_type type = IBV_QPT_RC, bool with_channel = false) {
        if (with_channel) channel = ibv_create_comp_channel(context);
        completions = ibv_create_cq(context, 256, this, channel, 0);
        region = ibv_reg_mr(domain, memory.data(), memory.size(), all_rights);
        ibv_qp_init_attr asked{};
        asked.send_cq = asked.recv_cq = completions;
        asked.cap = {.max_send_wr = 64,
                     .max_recv_wr = 64,
                     .max_send_sge = 2,
                     .max_recv_sge = 2,
                     .max_inline_data = 64};
        asked.qp_type = type;
        asked.sq_sig_all = 1;
        pair = ibv_create_qp(domain, &asked);
        EXPECT_NE(pair, nullptr) << std::strerror(errno);
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;
    ~End() {
        EXPECT_EQ(pair != nullptr ? ibv_destroy_qp(pair) : 0, 0);
        EXPECT_EQ(ibv_dereg_mr(region), 0);
        EXPECT_EQ(ibv_destroy_cq(completions), 0);
        EXPECT_EQ(channel != nullptr ? ibv_destroy_comp_channel(channel) : 0, 0);
        EXPECT_EQ(ibv_dealloc_pd(domain), 0);
        EXPECT_EQ(ibv_close_device(context), 0);
    }

    Contact contact() const {
        Contact shown{
            pair->qp_num, psn, {}, reinterpret_cast<std::uintptr_t>(memory.data()), region->rkey};
        EXPECT_EQ(ibv_query_gid(context, 1, 1, &shown.gid), 0);
        return shown;
    }
    int to_init() {
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_INIT;
        attributes.port_num = 1;
        attributes.qp_access_flags = all_rights;
        return ibv_modify_qp(pair, &attributes,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    }
    /// Takes an RC queue pair to RTS.
    void connect(const Contact& peer, std::uint8_t timeout = 14) {
        ASSERT_EQ(to_init(), 0);
        ibv_qp_attr attributes{};
        attributes.qp_state = IBV_QPS_RTR;
        attributes.path_mtu = IBV_MTU_1024;
        attributes.dest_qp_num = peer.queue_pair;
        attributes.rq_psn = peer.psn;
        attributes.max_dest_rd_atomic = 4;
        attributes.min_rnr_timer = 12;
        attributes.ah_attr.is_global = 1;
        attributes.ah_attr.grh.dgid = peer.gid;
        attributes.ah_attr.grh.sgid_index = 1;
        attributes.ah_attr.port_num = 1;
        ASSERT_EQ(
            ibv_modify_qp(pair, &attributes,
                          IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                              IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
            0);
        attributes.qp_state = IBV_QPS_RTS;
        attributes.sq_psn = psn;
        attributes.timeout = timeout;
        attributes.retry_cnt = 7;
        attributes.rnr_retry = 7;
        attributes.max_rd_atomic = 4;
        ASSERT_EQ(ibv_modify_qp(pair, &attributes,
                                IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC),
                  0);
    }
    ibv_sge piece(std::size_t offset, std::uint32_t length) const {
        return {reinterpret_cast<std::uintptr_t>(memory.data()) + offset, length, region->lkey};
    }
    int post_receive(std::uint64_t id, ibv_sge to) {
        ibv_recv_wr request{};
        request.wr_id = id;
        request.sg_list = &to;
        request.num_sge = 1;
        ibv_recv_wr* bad = nullptr;
        return ibv_post_recv(pair, &request, &bad);
    }
    int post(ibv_wr_opcode opcode, std::uint64_t id, ibv_sge piece, const Contact& peer,
             std::size_t at = 0) {
        ibv_send_wr request{};
        request.wr_id = id;
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = opcode;
        request.wr.rdma.remote_addr = peer.address + at;
        request.wr.rdma.rkey = peer.key;
        ibv_send_wr* bad = nullptr;
        return ibv_post_send(pair, &request, &bad);
    }
    /// The next completion. If the patience ends without one, the status is GENERAL_ERR.
    ibv_wc wait() const {
        const auto end = std::chrono::steady_clock::now() + patience;
        ibv_wc one{};
        while (std::chrono::steady_clock::now() < end) {
            const int polled = ibv_poll_cq(completions, 1, &one);
            if (polled == 1) return one;
            if (polled < 0) break;
        }
        one.status = IBV_WC_GENERAL_ERR;
        return one;
    }

    static constexpr int all_rights = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
                                      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    ibv_context* context = open_device();
    ibv_pd* domain = ibv_alloc_pd(context);
    ibv_comp_channel* channel = nullptr;
    ibv_cq* completions = nullptr;
    std::vector<char> memory = std::vector<char>(65536);
    ibv_mr* region = nullptr;
    ibv_qp* pair = nullptr;
    std::uint32_t psn = 0xFFFFFE;  // near the wrap
};

/// Two ends of one device, connected. `a` may have a channel.
struct Pair {
    explicit Pair(bool with_channel = false) : a(IBV_QPT_RC, with_channel) {
        a.connect(b.contact());
        b.connect(a.contact());
    }
    End a;
    End b;
};

}  // namespace wireproof::verbs::test
