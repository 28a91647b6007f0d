// A call that succeeds leaves errno as it was. Programs clean up between a failure and perror().
#include <functional>

#include "wireproof/front/verbs/cm/cm_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

constexpr int some_value = 9999;

/// True if `call` returns true and leaves errno.
bool keeps_errno(const std::function<bool()>& call) {
    errno = some_value;
    const bool succeeds = call();
    const int after = errno;
    EXPECT_TRUE(succeeds) << std::strerror(after);
    return after == some_value;
}

TEST(VerbsErrno, IsKeptByEachCallThatSucceeds) {
    int count = 0;
    ibv_device** list = nullptr;
    ibv_context* context = nullptr;
    ibv_pd* domain = nullptr;
    ibv_comp_channel* channel = nullptr;
    ibv_cq* queue = nullptr;
    ibv_mr* region = nullptr;
    ibv_qp* pair = nullptr;
    ibv_ah* handle = nullptr;
    std::vector<char> memory(8192);
    ibv_wc completion{};
    EXPECT_TRUE(keeps_errno([&] { return (list = ibv_get_device_list(&count)) != nullptr; }));
    EXPECT_TRUE(keeps_errno([&] { return (context = ibv_open_device(list[0])) != nullptr; }));
    EXPECT_TRUE(keeps_errno([&] { return (ibv_free_device_list(list), true); }));
    EXPECT_TRUE(keeps_errno([&] { return (domain = ibv_alloc_pd(context)) != nullptr; }));
    EXPECT_TRUE(keeps_errno([&] {
        region = ibv_reg_mr(domain, memory.data(), memory.size(), End::all_rights);
        return region != nullptr;
    }));
    EXPECT_TRUE(
        keeps_errno([&] { return (channel = ibv_create_comp_channel(context)) != nullptr; }));
    EXPECT_TRUE(keeps_errno([&] {
        queue = ibv_create_cq(context, 16, nullptr, channel, 0);
        return queue != nullptr;
    }));
    ibv_qp_init_attr asked{};
    asked.send_cq = asked.recv_cq = queue;
    asked.cap = {.max_send_wr = 4,
                 .max_recv_wr = 4,
                 .max_send_sge = 1,
                 .max_recv_sge = 1,
                 .max_inline_data = 0};
    asked.qp_type = IBV_QPT_RC;
    EXPECT_TRUE(keeps_errno([&] { return (pair = ibv_create_qp(domain, &asked)) != nullptr; }));
    ibv_ah_attr there{};
    there.is_global = 1;
    there.port_num = 1;
    there.grh.sgid_index = 1;
    EXPECT_TRUE(keeps_errno([&] { return ibv_query_gid(context, 1, 1, &there.grh.dgid) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return (handle = ibv_create_ah(domain, &there)) != nullptr; }));
    ibv_gid_entry entry{};
    EXPECT_TRUE(keeps_errno([&] { return ibv_query_gid_ex(context, 1, 1, &entry, 0) == 0; }));
    ibv_port_attr port{};
    EXPECT_TRUE(keeps_errno([&] { return ___ibv_query_port(context, 1, &port) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return ibv_poll_cq(queue, 1, &completion) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return ibv_req_notify_cq(queue, 0) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return ibv_destroy_ah(handle) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return ibv_destroy_qp(pair) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return ibv_destroy_cq(queue) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return ibv_destroy_comp_channel(channel) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return ibv_dereg_mr(region) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return ibv_dealloc_pd(domain) == 0; }));
    EXPECT_TRUE(keeps_errno([&] { return ibv_close_device(context) == 0; }));
}

TEST(VerbsErrno, IsTheErrorOfACallThatFails) {
    const End end;
    ibv_qp_attr attributes{};
    attributes.qp_state = IBV_QPS_RTS;
    errno = some_value;
    EXPECT_EQ(ibv_modify_qp(end.pair, &attributes, IBV_QP_STATE), EINVAL);
    EXPECT_EQ(errno, EINVAL);
    errno = some_value;
    EXPECT_EQ(ibv_create_cq(end.context, 0, nullptr, nullptr, 0), nullptr);
    EXPECT_EQ(errno, EINVAL);
}

TEST(VerbsErrno, IsKeptByEachCommandThatSucceeds) {
    const auto written = [](int file, std::uint32_t number, const auto& command, auto* answer) {
        std::vector<char> bytes(sizeof(rdma_ucm_cmd_hdr) + sizeof command);
        const rdma_ucm_cmd_hdr header{number, sizeof command, sizeof *answer};
        std::memcpy(bytes.data(), &header, sizeof header);
        std::memcpy(bytes.data() + sizeof header, &command, sizeof command);
        return wireproof_rdma_cm_write(file, bytes.data(), bytes.size()) ==
               static_cast<ssize_t>(bytes.size());
    };
    int file = -1;
    EXPECT_TRUE(keeps_errno([&] { return (file = wireproof_rdma_cm_open(0)) >= 0; }));
    const auto create = [&](rdma_ucm_create_id_resp& made) {
        rdma_ucm_create_id command{};
        command.ps = RDMA_PS_TCP;
        command.uid = 1;  // no event is told of an identifier without one
        command.response = reinterpret_cast<std::uintptr_t>(&made);
        return written(file, RDMA_USER_CM_CMD_CREATE_ID, command, &made);
    };
    rdma_ucm_create_id_resp listener{};
    rdma_ucm_create_id_resp asker{};
    EXPECT_TRUE(keeps_errno([&] { return create(listener) && create(asker); }));
    std::uint32_t none = 0;
    rdma_ucm_bind bind{
        .id = listener.id, .addr_size = sizeof(sockaddr_in), .reserved = 0, .addr = {}};
    const sockaddr_in here = ip("127.0.0.1", 0);
    std::memcpy(&bind.addr, &here, sizeof here);
    EXPECT_TRUE(keeps_errno([&] { return written(file, RDMA_USER_CM_CMD_BIND, bind, &none); }));
    const rdma_ucm_listen listen{listener.id, 4};
    EXPECT_TRUE(keeps_errno([&] { return written(file, RDMA_USER_CM_CMD_LISTEN, listen, &none); }));
    rdma_ucm_resolve_addr resolve{};
    resolve.id = asker.id;
    resolve.timeout_ms = 2000;
    resolve.dst_size = sizeof here;
    const sockaddr_in other = ip("127.0.0.1", 1);  // no file has this port
    std::memcpy(&resolve.dst_addr, &other, sizeof other);
    EXPECT_TRUE(
        keeps_errno([&] { return written(file, RDMA_USER_CM_CMD_RESOLVE_ADDR, resolve, &none); }));
    rdma_ucm_event_resp event{};
    const rdma_ucm_get_event get{.response = reinterpret_cast<std::uintptr_t>(&event)};
    EXPECT_TRUE(
        keeps_errno([&] { return written(file, RDMA_USER_CM_CMD_GET_EVENT, get, &event); }));
    for (const std::uint32_t id : {asker.id, listener.id}) {
        rdma_ucm_destroy_id_resp gone{};
        rdma_ucm_destroy_id destroy{};
        destroy.id = id;
        destroy.response = reinterpret_cast<std::uintptr_t>(&gone);
        EXPECT_TRUE(keeps_errno(
            [&] { return written(file, RDMA_USER_CM_CMD_DESTROY_ID, destroy, &gone); }));
    }
    EXPECT_TRUE(keeps_errno([&] { return wireproof_rdma_cm_close(file) == 0; }));
}

}  // namespace
}  // namespace wireproof::verbs::test
