// The commands, in one process: it is both sides of each connection. The device's socket sends the
// datagrams to itself.
#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "wireproof/front/verbs/cm/cm_test_kit.hpp"
#include "wireproof/front/verbs/device/identity.hpp"

namespace wireproof::verbs::test {
namespace {

std::string told(const rdma_ucm_conn_param& from) {
    return {reinterpret_cast<const char*>(from.private_data), from.private_data_len};
}

/// The text with zeros up to the field's size, as the kernel shows it.
std::string padded(std::string text, std::size_t size) {
    text.resize(size);
    return text;
}

/// This process has a folder of its own, because other tests of the same user may run at the same
/// time.
class OwnFolder : public testing::Environment {
public:
    void SetUp() override {
        folder_ = testing::TempDir() + "rdma_cmXXXXXX";
        ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
        ::setenv("XDG_RUNTIME_DIR", folder_.c_str(), 1);
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

private:
    std::string folder_;
};
[[maybe_unused]] const auto* const own_folder = testing::AddGlobalTestEnvironment(new OwnFolder);

TEST_F(Cm, AConnectionIsMadeAndBothSidesReceiveTheOthersPrivateData) {
    connect();
    const rdma_ucm_conn_param& question = request.param.conn;
    EXPECT_EQ(question.qp_num, 0x11U);
    EXPECT_EQ(told(question), padded("question", 56));
    // What the peer may ask of this side, and what this side may ask of the peer.
    EXPECT_EQ(question.responder_resources, 2);
    EXPECT_EQ(question.initiator_depth, 3);
    EXPECT_EQ(question.retry_count, 7);  // three bits: a larger number becomes 7
    EXPECT_EQ(question.rnr_retry_count, 7);
    EXPECT_EQ(reply.uid, uid_of_asker);
    EXPECT_EQ(reply.param.conn.qp_num, 0x22U);
    EXPECT_EQ(told(reply.param.conn), padded("answer", 196));
}

TEST_F(Cm, QueuePairsGetWhatTheyNeedToMeet) {
    connect();
    ib_uverbs_qp_attr asking{};
    ib_uverbs_qp_attr answering{};
    ASSERT_EQ(client.attributes(asker, IBV_QPS_INIT, asking), 0);
    EXPECT_EQ(asking.qp_attr_mask,
              unsigned{IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS});
    EXPECT_EQ(asking.qp_access_flags, unsigned{IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                               IBV_ACCESS_REMOTE_ATOMIC});
    ASSERT_EQ(client.attributes(asker, IBV_QPS_RTR, asking), 0);
    ASSERT_EQ(server.attributes(asked, IBV_QPS_RTR, answering), 0);
    EXPECT_EQ(asking.dest_qp_num, 0x22U);
    EXPECT_EQ(answering.dest_qp_num, 0x11U);
    EXPECT_EQ(asking.path_mtu, answering.path_mtu);
    EXPECT_EQ(asking.ah_attr.is_global, 1);
    EXPECT_EQ(asking.ah_attr.grh.sgid_index, 1);
    const std::uint32_t to_asker = asking.rq_psn;
    const std::uint32_t to_asked = answering.rq_psn;
    EXPECT_EQ(asking.max_dest_rd_atomic, 2);
    EXPECT_EQ(answering.max_dest_rd_atomic, 3);
    ASSERT_EQ(client.attributes(asker, IBV_QPS_RTS, asking), 0);
    ASSERT_EQ(server.attributes(asked, IBV_QPS_RTS, answering), 0);
    EXPECT_EQ(asking.sq_psn, to_asked);
    EXPECT_EQ(answering.sq_psn, to_asker);
    EXPECT_EQ(asking.max_rd_atomic, 3);
    EXPECT_EQ(asking.retry_cnt, 7);
    EXPECT_EQ(answering.retry_cnt, 7);
    EXPECT_EQ(asking.timeout, answering.timeout);
    EXPECT_EQ(client.attributes(asker, IBV_QPS_ERR + 1, asking), EINVAL);
}

TEST_F(Cm, DisconnectingReachesBothSidesAndAgainIsNoError) {
    connect();
    EXPECT_EQ(client.disconnect(asker), 0);
    EXPECT_EQ(server.event(cm_event::disconnected).uid, uid_of_accepted);
    EXPECT_EQ(client.event(cm_event::disconnected).uid, uid_of_asker);
    EXPECT_EQ(server.disconnect(asked), 0);
    EXPECT_EQ(client.disconnect(asker), 0);
    EXPECT_FALSE(server.has_event(0));
    EXPECT_EQ(client.disconnect(client.created(1)), EINVAL);  // was never connected
}

TEST_F(Cm, WhoDestroysItsSideDisconnects) {
    connect();
    EXPECT_EQ(client.destroy(asker), 0);
    EXPECT_EQ(server.event(cm_event::disconnected).uid, uid_of_accepted);
}

TEST_F(Cm, WhoClosesTheDescriptorDisconnectsAll) {
    connect();
    client.close();
    EXPECT_EQ(server.event(cm_event::disconnected).uid, uid_of_accepted);
}

TEST_F(Cm, ARejectionSaysWhy) {
    listen();
    ask();
    EXPECT_EQ(server.reject(asked, "no"), 0);
    const auto event = client.event(cm_event::rejected);
    EXPECT_EQ(event.status, 28U);
    EXPECT_EQ(told(event.param.conn), padded("no", 148));
    EXPECT_EQ(client.disconnect(asker), 0);
    EXPECT_EQ(server.accept(asked, uid_of_accepted, CmFile::parameters(1, "")), EINVAL);
}

TEST_F(Cm, NobodyListeningIsARejection) {
    listen();
    const auto addresses = client.query(routed(), RDMA_USER_CM_QUERY_ADDR);
    sockaddr_in own{};
    std::memcpy(&own, &addresses.src_addr, sizeof own);
    own.sin_port = htons(9);
    // One address of this process, and one of no process.
    for (const sockaddr_in& address : {own, ip("127.99.9.9", 9)}) {
        const std::uint32_t id = client.created(uid_of_asker);
        ASSERT_EQ(client.resolve(id, address), 0);
        client.event(cm_event::address_resolved);
        ASSERT_EQ(client.resolve_route(id), 0);
        client.event(cm_event::route_resolved);
        EXPECT_EQ(client.connect(id, CmFile::parameters(0x11, "")), 0);
        EXPECT_EQ(client.event(cm_event::rejected).status, 8U);
    }
}

// How long is shown in modelled time (NameOfNobody).
TEST_F(Cm, ANameThatNobodyHasYetIsLookedForAMomentLonger) {
    port = 7322;
    const std::uint32_t id = client.created(uid_of_asker);
    ASSERT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0);
    EXPECT_EQ(client.resolve(id, ip("127.0.0.1", port)), EINVAL);
    listener = server.created(uid_of_listener);
    ASSERT_EQ(server.bind(listener, ip("127.0.0.1", port)), 0);
    client.event(cm_event::address_resolved);
    // The wait is no longer than the program allows.
    ASSERT_EQ(client.resolve(client.created(1), ip("127.0.0.1", 9), 0), 0);
    EXPECT_TRUE(client.has_event(0));
}

TEST_F(Cm, RequestsThatWaitAreRefusedWhenTheListenerGoes) {
    listen();
    const std::uint32_t id = routed();
    ASSERT_EQ(client.connect(id, CmFile::parameters(0x11, "")), 0);
    ASSERT_TRUE(server.has_event(patience.count()));
    EXPECT_EQ(server.destroy(listener), 0);
    client.event(cm_event::rejected);
}

TEST_F(Cm, MoreRequestsThanTheBacklogAreRefused) {
    listener = server.created(uid_of_listener);
    ASSERT_EQ(server.bind(listener, ip("127.0.0.1", 0)), 0);
    port = port_of(server.query(listener, RDMA_USER_CM_QUERY_ADDR));
    ASSERT_EQ(server.listen(listener, 1), 0);
    ASSERT_EQ(client.connect(routed(), CmFile::parameters(0x11, "")), 0);
    ASSERT_EQ(client.connect(routed(), CmFile::parameters(0x12, "")), 0);
    EXPECT_EQ(client.event(cm_event::rejected).status, 3U);
    EXPECT_EQ(server.event(cm_event::connect_request).param.conn.qp_num, 0x11U);
    EXPECT_FALSE(server.has_event(0));
}

TEST_F(Cm, ADatagramServiceSaysWhichQueuePairTakesItsDatagrams) {
    listen(RDMA_PS_UDP);
    ask(RDMA_PS_UDP);
    EXPECT_EQ(request.param.ud.private_data_len, 180);
    ASSERT_EQ(server.accept(asked, uid_of_accepted, CmFile::parameters(0x22, "answer")), 0);
    const auto event = client.event(cm_event::established);
    EXPECT_EQ(event.param.ud.qp_num, 0x22U);
    EXPECT_EQ(event.param.ud.qkey, 0x01234567U);
    EXPECT_EQ(event.param.ud.ah_attr.is_global, 1);
    EXPECT_EQ(event.param.ud.private_data_len, 136);
    EXPECT_EQ(std::memcmp(event.param.ud.private_data, "answer", 7), 0);
    ib_uverbs_qp_attr attributes{};
    ASSERT_EQ(client.attributes(asker, IBV_QPS_INIT, attributes), 0);
    EXPECT_EQ(attributes.qkey, 0x01234567U);
    EXPECT_NE(attributes.qp_attr_mask & IBV_QP_QKEY, 0U);
    EXPECT_EQ(client.destroy(asker), 0);
    EXPECT_EQ(server.destroy(asked), 0);
}

TEST_F(Cm, ADatagramServiceThatRefusesIsUnreachable) {
    listen(RDMA_PS_UDP);
    ask(RDMA_PS_UDP);
    EXPECT_EQ(server.reject(asked, ""), 0);
    EXPECT_EQ(client.event(cm_event::unreachable).status, 2U);
}

TEST_F(Cm, TheEndOfAnIdentifierSaysHowManyEventsWereTaken) {
    connect();
    std::uint32_t events = 0;
    EXPECT_EQ(server.destroy(asked, &events), 0);
    EXPECT_EQ(events, 1U);  // established
    EXPECT_EQ(server.destroy(listener, &events), 0);
    EXPECT_EQ(events, 1U);  // the request
    client.event(cm_event::disconnected);
    EXPECT_EQ(client.destroy(asker, &events), 0);
    EXPECT_EQ(events, 4U);
    EXPECT_EQ(client.destroy(asker), ENOENT);
}

TEST_F(Cm, EventsThatNobodyTookGoWithTheirIdentifier) {
    listen();
    const std::uint32_t id = client.created(uid_of_asker);
    EXPECT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0);
    EXPECT_TRUE(client.has_event(patience.count()));
    std::uint32_t events = 9;
    EXPECT_EQ(client.destroy(id, &events), 0);
    EXPECT_EQ(events, 0U);
    EXPECT_FALSE(client.has_event(0));
}

TEST_F(Cm, AnIdentifierMovesToAnotherDescriptorWithItsEvents) {
    listen();
    const std::uint32_t id = client.created(uid_of_asker);
    EXPECT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0);
    ASSERT_TRUE(client.has_event(patience.count()));
    CmFile other;
    rdma_ucm_migrate_id command{};
    command.id = id;
    command.fd = static_cast<std::uint32_t>(client.handle());
    rdma_ucm_migrate_resp answer{};
    EXPECT_EQ(other.ask(RDMA_USER_CM_CMD_MIGRATE_ID, command, answer), 0);
    EXPECT_EQ(answer.events_reported, 0U);
    EXPECT_FALSE(client.has_event(0));
    other.event(cm_event::address_resolved);
    EXPECT_EQ(client.resolve_route(id), EINVAL);
    EXPECT_EQ(other.resolve_route(id), 0);
    command.fd = 0xFFFFFF;
    EXPECT_EQ(other.ask(RDMA_USER_CM_CMD_MIGRATE_ID, command, answer), ENOENT);
    const int unrelated = ::open("/dev/null", O_RDONLY);
    command.fd = static_cast<std::uint32_t>(unrelated);
    EXPECT_EQ(other.ask(RDMA_USER_CM_CMD_MIGRATE_ID, command, answer), EINVAL);
    ::close(unrelated);
}

/// The address that the server sees as the client's. The client binds its identifier to `source`,
/// if there is one. The device has another address than 127.0.0.1.
std::string name_of_asker(const char* source) {
    ::setenv("WIREPROOF_VERBS_ADDRESS", "127.78.0.5", 1);
    CmFile server;
    CmFile client;
    ::unsetenv("WIREPROOF_VERBS_ADDRESS");
    const std::uint32_t listener = server.created(uid_of_listener);
    EXPECT_EQ(server.bind(listener, ip("127.0.0.1", 0)), 0);
    const std::uint16_t port = port_of(server.query(listener, RDMA_USER_CM_QUERY_ADDR));
    EXPECT_EQ(server.listen(listener), 0);
    const std::uint32_t id = client.created(uid_of_asker);
    if (source != nullptr) {
        EXPECT_EQ(client.bind(id, ip(source, 0)), 0);
    }
    EXPECT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0);
    client.event(cm_event::address_resolved);
    EXPECT_EQ(client.resolve_route(id), 0);
    client.event(cm_event::route_resolved);
    EXPECT_EQ(client.connect(id, CmFile::parameters(0x11, "question")), 0);
    const std::uint32_t asked = server.event(cm_event::connect_request).id;
    sockaddr_in destination{};
    const auto addresses = server.query(asked, RDMA_USER_CM_QUERY_ADDR);
    std::memcpy(&destination, &addresses.dst_addr, sizeof destination);
    return ::inet_ntoa(destination.sin_addr);
}

// Libraries look a connection up by the address that the peer has published. Without this rule,
// Open MPI over libfabric hangs on hosts whose own name is 127.0.0.1.
TEST(CmNames, WhoCallsItselfByTheHostsNameIsCalledSoByTheOtherSide) {
    EXPECT_EQ(name_of_asker("127.0.0.1"), "127.0.0.1");
    EXPECT_EQ(name_of_asker("127.78.0.5"), "127.78.0.5");
    EXPECT_EQ(name_of_asker(nullptr), "127.78.0.5");
}

TEST_F(Cm, QueriesShowAddressesGidsAndThePath) {
    listen();
    const auto bound = server.query(listener, RDMA_USER_CM_QUERY_ADDR);
    EXPECT_EQ(bound.node_guid, device_guid());
    EXPECT_EQ(bound.port_num, 1);
    EXPECT_EQ(bound.src_size, sizeof(sockaddr_in));
    EXPECT_EQ(bound.dst_size, 0);
    const std::uint32_t id = routed();
    sockaddr_in destination{};
    const auto addresses = client.query(id, RDMA_USER_CM_QUERY_ADDR);
    std::memcpy(&destination, &addresses.dst_addr, sizeof destination);
    EXPECT_EQ(ntohs(destination.sin_port), port);
    EXPECT_EQ(client.query(id, RDMA_USER_CM_QUERY_GID).src_size, 48);
    rdma_ucm_query command{};
    command.id = id;
    rdma_ucm_query_route_resp route{};
    ASSERT_EQ(client.ask(RDMA_USER_CM_CMD_QUERY_ROUTE, command, route), 0);
    EXPECT_EQ(route.num_paths, 1U);
    EXPECT_EQ(route.ib_route[0].dgid[12], 127);
    struct {
        std::uint32_t count;
        std::uint32_t reserved;
        ib_path_rec_data paths[6];
    } path{};
    command.option = RDMA_USER_CM_QUERY_PATH;
    ASSERT_EQ(client.ask(RDMA_USER_CM_CMD_QUERY, command, path), 0);
    EXPECT_EQ(path.count, 1U);
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(path.paths[0].path_rec);
    EXPECT_EQ(std::memcmp(bytes + 8, route.ib_route[0].dgid, 16), 0);
    EXPECT_EQ(bytes[54] & 0x3F, static_cast<int>(route.ib_route[0].mtu));
    // The program may set this path itself.
    const std::uint32_t other = client.created(uid_of_asker);
    ASSERT_EQ(client.resolve(other, ip("127.0.0.1", port)), 0);
    client.event(cm_event::address_resolved);
    rdma_ucm_set_option option{};
    option.id = other;
    option.level = RDMA_OPTION_IB;
    option.optname = RDMA_OPTION_IB_PATH;
    option.optval = reinterpret_cast<std::uintptr_t>(path.paths);
    option.optlen = sizeof path.paths[0];
    EXPECT_EQ(client.run(RDMA_USER_CM_CMD_SET_OPTION, option), 0);
    client.event(cm_event::route_resolved);
}

TEST_F(Cm, APortIsOneListenersAlone) {
    listen();
    const std::uint32_t second = server.created(7);
    EXPECT_EQ(server.bind(second, ip("127.0.0.1", port)), EADDRINUSE);
    EXPECT_EQ(server.bind(second, ip("0.0.0.0", port)), EADDRINUSE);
    // A port of datagram services is another service than the same port of connections.
    EXPECT_EQ(server.bind(server.created(8, RDMA_PS_UDP), ip("0.0.0.0", port)), 0);
    EXPECT_EQ(server.destroy(listener), 0);
    EXPECT_EQ(server.bind(second, ip("127.0.0.1", port)), 0);
    EXPECT_EQ(server.bind(second, ip("127.0.0.1", port)), EINVAL);
    EXPECT_EQ(server.bind(server.created(9), ip("192.0.2.1", 0)), EADDRNOTAVAIL);
}

TEST_F(Cm, PortsThatMayBeSharedAreSharedUntilOneListens) {
    std::array<std::uint32_t, 2> ids{};
    const int on = 1;
    rdma_ucm_set_option option{};
    option.level = RDMA_OPTION_ID;
    option.optname = RDMA_OPTION_ID_REUSEADDR;
    option.optval = reinterpret_cast<std::uintptr_t>(&on);
    option.optlen = sizeof on;
    for (std::uint32_t& id : ids) {
        id = option.id = server.created(1);
        ASSERT_EQ(server.run(RDMA_USER_CM_CMD_SET_OPTION, option), 0);
        ASSERT_EQ(server.bind(id, ip("0.0.0.0", 7321)), 0);
    }
    EXPECT_EQ(server.destroy(ids[1]), 0);
    EXPECT_EQ(server.listen(ids[0]), 0);
    option.id = server.created(1);
    ASSERT_EQ(server.run(RDMA_USER_CM_CMD_SET_OPTION, option), 0);
    EXPECT_EQ(server.bind(option.id, ip("0.0.0.0", 7321)), EADDRINUSE);
}

TEST_F(Cm, CommandsOutOfOrderAreRefused) {
    const std::uint32_t id = client.created(1);
    EXPECT_EQ(client.resolve_route(id), EINVAL);
    EXPECT_EQ(client.connect(id, CmFile::parameters(1, "")), EINVAL);
    EXPECT_EQ(client.accept(id, 1, CmFile::parameters(1, "")), EINVAL);
    EXPECT_EQ(client.reject(id, ""), EINVAL);
    ib_uverbs_qp_attr attributes{};
    EXPECT_EQ(client.attributes(id, IBV_QPS_INIT, attributes), EINVAL);
    listen();
    const std::uint32_t ready = routed();
    EXPECT_EQ(client.attributes(ready, IBV_QPS_INIT, attributes), 0);
    EXPECT_EQ(attributes.qp_access_flags, 0U);
    EXPECT_EQ(client.attributes(ready, IBV_QPS_RTR, attributes), EINVAL);
    EXPECT_EQ(client.resolve(ready, ip("127.0.0.1", port)), EINVAL);
    auto none = CmFile::parameters(1, "");
    none.valid = 0;
    EXPECT_EQ(client.connect(ready, none), EINVAL);
    EXPECT_EQ(client.connect(ready, CmFile::parameters(1, std::string(57, 'x'))), EINVAL);
    EXPECT_EQ(client.connect(ready, CmFile::parameters(1, std::string(56, 'x'))), 0);
    EXPECT_EQ(told(server.event(cm_event::connect_request).param.conn), std::string(56, 'x'));
}

TEST_F(Cm, WhatIsNoCommandIsRefused) {
    // The commands are too short. They have room for every answer, and their pointers lead to no
    // memory.
    for (std::uint32_t command = 0; command <= RDMA_USER_CM_CMD_JOIN_MCAST + 3; ++command) {
        const int error = client.write(command, nullptr, 0, 0xFFFF);
        const bool special =
            command == RDMA_USER_CM_CMD_GET_OPTION || command == RDMA_USER_CM_CMD_JOIN_IP_MCAST ||
            command == RDMA_USER_CM_CMD_LEAVE_MCAST || command == RDMA_USER_CM_CMD_JOIN_MCAST;
        EXPECT_TRUE(special ? error != 0 : error == EINVAL) << command << ": " << error;
    }
    EXPECT_EQ(wireproof_rdma_cm_write(client.handle(), "abc", 3), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(wireproof_rdma_cm_write(client.handle(), nullptr, 16), -1);
    EXPECT_EQ(errno, EFAULT);
    rdma_ucm_cmd_hdr longer{RDMA_USER_CM_CMD_LISTEN, 400, 0};
    EXPECT_EQ(wireproof_rdma_cm_write(client.handle(), &longer, sizeof longer), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(client.run(RDMA_USER_CM_CMD_JOIN_MCAST, rdma_ucm_join_mcast{}), EOPNOTSUPP);
    EXPECT_EQ(client.run(RDMA_USER_CM_CMD_LEAVE_MCAST, rdma_ucm_destroy_id{}), ENOENT);
    std::uint32_t id = 0;
    EXPECT_EQ(client.create(1, id, 0x1234), EINVAL);
    EXPECT_EQ(client.listen(777), ENOENT);
    EXPECT_EQ(server.listen(client.created(1)), EINVAL);  // another descriptor's
}

TEST_F(Cm, AnswersThatHaveNoRoomOrNoMemoryAreRefused) {
    rdma_ucm_create_id command{};
    command.uid = 1;
    command.ps = RDMA_PS_TCP;
    EXPECT_EQ(client.write(RDMA_USER_CM_CMD_CREATE_ID, &command, sizeof command, 3), ENOSPC);
    command.response = 8;  // no memory is there
    EXPECT_EQ(client.write(RDMA_USER_CM_CMD_CREATE_ID, &command, sizeof command, 4), EFAULT);
    listen();
    const std::uint32_t id = client.created(uid_of_asker);
    ASSERT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0);
    ASSERT_TRUE(client.has_event(patience.count()));
    rdma_ucm_get_event event{.response = 8};
    EXPECT_EQ(client.write(RDMA_USER_CM_CMD_GET_EVENT, &event, sizeof event, 0x200), EFAULT);
    EXPECT_EQ(client.write(RDMA_USER_CM_CMD_GET_EVENT, &event, sizeof event, 20), ENOSPC);
    client.event(cm_event::address_resolved);  // the failed calls did not lose it
}

}  // namespace
}  // namespace wireproof::verbs::test
