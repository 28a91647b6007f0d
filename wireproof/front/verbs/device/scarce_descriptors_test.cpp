// The limit of descriptors rises step by step. Each call must succeed, or fail with an error and
// leave no descriptor open.
#include <fcntl.h>

#include "wireproof/front/verbs/hooks/cm_device.h"
#include "wireproof/front/verbs/objects/descriptors_test_kit.hpp"
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

/// A program that uses everything that takes descriptors. Its queue pair is connected to itself.
class Program {
public:
    Program() { run(); }
    Program(const Program&) = delete;
    Program& operator=(const Program&) = delete;
    ~Program() {
        EXPECT_EQ(connections >= 0 ? wireproof_rdma_cm_close(connections) : 0, 0);
        EXPECT_EQ(pair != nullptr ? ibv_destroy_qp(pair) : 0, 0);
        EXPECT_EQ(region != nullptr ? ibv_dereg_mr(region) : 0, 0);
        EXPECT_EQ(completions != nullptr ? ibv_destroy_cq(completions) : 0, 0);
        EXPECT_EQ(channel != nullptr ? ibv_destroy_comp_channel(channel) : 0, 0);
        EXPECT_EQ(domain != nullptr ? ibv_dealloc_pd(domain) : 0, 0);
        EXPECT_EQ(context != nullptr ? ibv_close_device(context) : 0, 0);
    }

    std::string failed;  // the call that failed, or empty
    int error = 0;       // of it

private:
    template <class Made>
    bool made(Made* object, const char* call) {
        return is_good(object != nullptr ? 0 : errno, call);
    }
    bool is_good(int number, const char* call) {
        if (number != 0) failed = call;
        error = number;
        return number == 0;
    }

    void run() {
        ibv_qp_init_attr asked{};
        if (!made(context = open_device(), "ibv_open_device") ||
            !made(channel = ibv_create_comp_channel(context), "ibv_create_comp_channel") ||
            !made(domain = ibv_alloc_pd(context), "ibv_alloc_pd") ||
            !made(completions = ibv_create_cq(context, 16, nullptr, channel, 0), "ibv_create_cq") ||
            !made(region = ibv_reg_mr(domain, bytes.data(), bytes.size(), End::all_rights),
                  "ibv_reg_mr")) {
            return;
        }
        asked.send_cq = asked.recv_cq = completions;
        asked.cap = {4, 4, 1, 1, 0};
        asked.qp_type = IBV_QPT_RC;
        asked.sq_sig_all = 1;
        if (!made(pair = ibv_create_qp(domain, &asked), "ibv_create_qp")) return;
        if (!is_good(connect(), "ibv_modify_qp") || !is_good(write(), "a Write")) return;
        connections = wireproof_rdma_cm_open(O_RDWR | O_CLOEXEC);
        is_good(connections >= 0 ? 0 : errno, "rdma_cm's open");
    }

    int connect() {
        ibv_qp_attr to{};
        to.qp_state = IBV_QPS_INIT;
        to.port_num = 1;
        to.qp_access_flags = End::all_rights;
        int wrong = ibv_modify_qp(
            pair, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
        to.qp_state = IBV_QPS_RTR;
        to.path_mtu = IBV_MTU_1024;
        to.dest_qp_num = pair->qp_num;
        to.rq_psn = to.sq_psn = 0xFFFFFF;
        to.max_dest_rd_atomic = to.max_rd_atomic = 1;
        to.min_rnr_timer = 12;
        to.ah_attr.is_global = 1;
        ibv_query_gid(context, 1, 1, &to.ah_attr.grh.dgid);
        to.ah_attr.grh.sgid_index = 1;
        to.ah_attr.port_num = 1;
        wrong = wrong != 0 ? wrong
                           : ibv_modify_qp(pair, &to,
                                           IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                               IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                                               IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
        to.qp_state = IBV_QPS_RTS;
        to.timeout = 14;
        to.retry_cnt = to.rnr_retry = 7;
        return wrong != 0
                   ? wrong
                   : ibv_modify_qp(pair, &to,
                                   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
    }
    int write() {
        const auto at = reinterpret_cast<std::uintptr_t>(bytes.data());
        ibv_sge piece{at, 64, region->lkey};
        ibv_send_wr request{};
        request.sg_list = &piece;
        request.num_sge = 1;
        request.opcode = IBV_WR_RDMA_WRITE;
        request.wr.rdma = {at + 64, region->rkey};
        ibv_send_wr* bad = nullptr;
        if (const int wrong = ibv_post_send(pair, &request, &bad)) return wrong;
        ibv_wc one{};
        const auto end = std::chrono::steady_clock::now() + patience;
        while (std::chrono::steady_clock::now() < end) {
            if (ibv_poll_cq(completions, 1, &one) == 1) return one.status;
        }
        return ETIMEDOUT;
    }

    ibv_context* context = nullptr;
    ibv_comp_channel* channel = nullptr;
    ibv_pd* domain = nullptr;
    ibv_cq* completions = nullptr;
    std::array<char, 128> bytes{};
    ibv_mr* region = nullptr;
    ibv_qp* pair = nullptr;
    int connections = -1;
};

TEST(Verbs, EachMissingDescriptorIsReportedAndNoneLeaks) {
    const std::size_t before = descriptors();
    std::string last;
    std::size_t calls = 0;  // calls that failed with some limit
    bool done = false;
    for (rlim_t number = 3; !done; ++number) {
        ASSERT_LT(number, 200U);
        {
            const Below limit(number);
            const Program program;
            done = program.failed.empty();
            if (!done) {
                EXPECT_TRUE(program.error == EMFILE || program.error == ENOMEM)
                    << number << ": " << program.failed << ": " << std::strerror(program.error);
            }
            if (program.failed != last) ++calls;
            last = program.failed;
        }
        ASSERT_EQ(descriptors(), before) << number;
        const Program lifted;
        ASSERT_TRUE(lifted.failed.empty()) << number << ": " << lifted.failed;
    }
    // The device, the channel and rdma_cm need descriptors. With the highest limit none of them
    // fails.
    EXPECT_EQ(calls, 4U);
    EXPECT_EQ(descriptors(), before);
}

}  // namespace
}  // namespace wireproof::verbs::test
