// Commands, in one process: both sides of each connection belong to it, and its datagrams go
// through its socket to itself.
#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "wireproof/base/random.hpp"
#include "wireproof/front/verbs/cm_test_kit.hpp"
#include "wireproof/front/verbs/device_list.hpp"

namespace wireproof::verbs::test {
namespace {

constexpr std::uint64_t uid_of_listener = 0x1111;
constexpr std::uint64_t uid_of_asker = 0x2222;
constexpr std::uint64_t uid_of_accepted = 0x3333;

std::uint16_t port_of(const rdma_ucm_query_addr_resp& answer) {
    sockaddr_in address{};
    std::memcpy(&address, &answer.src_addr, sizeof address);
    return ntohs(address.sin_port);
}

std::string told(const rdma_ucm_conn_param& from) {
    return {reinterpret_cast<const char*>(from.private_data), from.private_data_len};
}

/// Filled up with zeros to the field's size, as the kernel shows it.
std::string padded(std::string text, std::size_t size) {
    text.resize(size);
    return text;
}

/// Other tests of the same user may run at the same time: this process has a folder of its own.
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

class Cm : public testing::Test {
protected:
    /// A listener at 127.0.0.1.
    void listen(std::uint16_t space = RDMA_PS_TCP) {
        listener = server.created(uid_of_listener, space);
        ASSERT_EQ(server.bind(listener, ip("127.0.0.1", 0)), 0);
        port = port_of(server.query(listener, RDMA_USER_CM_QUERY_ADDR));
        ASSERT_NE(port, 0);
        ASSERT_EQ(server.listen(listener), 0);
    }
    /// An identifier that could connect to it.
    std::uint32_t routed(std::uint16_t space = RDMA_PS_TCP) {
        const std::uint32_t id = client.created(uid_of_asker, space);
        EXPECT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0);
        EXPECT_EQ(client.event(cm_event::address_resolved).uid, uid_of_asker);
        EXPECT_EQ(client.resolve_route(id), 0);
        EXPECT_EQ(client.event(cm_event::route_resolved).uid, uid_of_asker);
        return id;
    }
    void ask(std::uint16_t space = RDMA_PS_TCP) {
        asker = routed(space);
        ASSERT_EQ(client.connect(asker, CmFile::parameters(0x11, "question")), 0);
        request = server.event(cm_event::connect_request);
        EXPECT_EQ(request.uid, uid_of_listener);
        asked = request.id;
    }
    /// Both established.
    void connect() {
        listen();
        ask();
        ASSERT_EQ(server.accept(asked, uid_of_accepted, CmFile::parameters(0x22, "answer")), 0);
        reply = client.event(cm_event::connect_response);
        ASSERT_EQ(client.accept(asker, 0, {}), 0);
        EXPECT_EQ(server.event(cm_event::established).uid, uid_of_accepted);
    }

    CmFile server;
    CmFile client;
    std::uint32_t listener = 0;
    std::uint32_t asker = 0;
    std::uint32_t asked = 0;
    std::uint16_t port = 0;
    rdma_ucm_event_resp request{};
    rdma_ucm_event_resp reply{};
};

TEST_F(Cm, AConnectionIsMadeAndBothSidesHearWhatTheOtherTold) {
    connect();
    const rdma_ucm_conn_param& question = request.param.conn;
    EXPECT_EQ(question.qp_num, 0x11U);
    EXPECT_EQ(told(question), padded("question", 56));
    // What is asked of this side, and what it may ask.
    EXPECT_EQ(question.responder_resources, 2);
    EXPECT_EQ(question.initiator_depth, 3);
    EXPECT_EQ(question.retry_count, 7);  // three bits: more is no more
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

TEST_F(Cm, DisconnectingIsHeardByBothSidesAndAgainIsNoError) {
    connect();
    EXPECT_EQ(client.disconnect(asker), 0);
    EXPECT_EQ(server.event(cm_event::disconnected).uid, uid_of_accepted);
    EXPECT_EQ(client.event(cm_event::disconnected).uid, uid_of_asker);
    EXPECT_EQ(server.disconnect(asked), 0);
    EXPECT_EQ(client.disconnect(asker), 0);
    EXPECT_FALSE(server.has_event(0));
    EXPECT_EQ(client.disconnect(client.created(1)), EINVAL);  // never was connected
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
    // Of this process, and of none.
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

TEST_F(Cm, WhoAsksAMomentTooEarlyIsHeard) {
    listener = server.created(uid_of_listener);
    // Of the device's own address nobody looks for a file.
    ASSERT_EQ(server.bind(listener, ip("127.0.0.1", 0)), 0);
    port = port_of(server.query(listener, RDMA_USER_CM_QUERY_ADDR));
    const std::uint32_t id = routed();
    ASSERT_EQ(client.connect(id, CmFile::parameters(0x11, "")), 0);
    EXPECT_FALSE(server.has_event(20));
    ASSERT_EQ(server.listen(listener), 0);
    EXPECT_EQ(server.event(cm_event::connect_request).param.conn.qp_num, 0x11U);
}

TEST_F(Cm, ANameThatNobodyHasYetIsLookedForAMomentLonger) {
    port = 7322;
    const std::uint32_t id = client.created(uid_of_asker);
    ASSERT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0);
    EXPECT_EQ(client.resolve(id, ip("127.0.0.1", port)), EINVAL);
    EXPECT_FALSE(client.has_event(50));
    listener = server.created(uid_of_listener);
    ASSERT_EQ(server.bind(listener, ip("127.0.0.1", port)), 0);
    client.event(cm_event::address_resolved);
    // Not longer than the program wants to wait.
    ASSERT_EQ(client.resolve(client.created(1), ip("127.0.0.1", 9), 0), 0);
    EXPECT_TRUE(client.has_event(0));
}

TEST_F(Cm, RequestsThatWaitAreRefusedWhenTheListenerGoes) {
    listen();
    const std::uint32_t id = routed();
    ASSERT_EQ(client.connect(id, CmFile::parameters(0x11, "")), 0);
    ASSERT_TRUE(server.has_event(30000));
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
    EXPECT_TRUE(client.has_event(30000));
    std::uint32_t events = 9;
    EXPECT_EQ(client.destroy(id, &events), 0);
    EXPECT_EQ(events, 0U);
    EXPECT_FALSE(client.has_event(0));
}

TEST_F(Cm, AnIdentifierMovesToAnotherDescriptorWithItsEvents) {
    listen();
    const std::uint32_t id = client.created(uid_of_asker);
    EXPECT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0);
    ASSERT_TRUE(client.has_event(30000));
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

// Libraries look a connection up by the address that the other side has published: Open MPI over
// libfabric hangs else, where the host's own name is 127.0.0.1.
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
    // A path that the program brings is that path.
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
    // The same number of datagram services is another.
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
    // Shorter than they must be, with room for every answer, and pointing nowhere.
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
    EXPECT_EQ(server.listen(client.created(1)), EINVAL);  // of another descriptor
}

TEST_F(Cm, AnswersThatHaveNoRoomOrNoMemoryAreRefused) {
    rdma_ucm_create_id command{};
    command.uid = 1;
    command.ps = RDMA_PS_TCP;
    EXPECT_EQ(client.write(RDMA_USER_CM_CMD_CREATE_ID, &command, sizeof command, 3), ENOSPC);
    command.response = 8;  // where nothing is
    EXPECT_EQ(client.write(RDMA_USER_CM_CMD_CREATE_ID, &command, sizeof command, 4), EFAULT);
    listen();
    const std::uint32_t id = client.created(uid_of_asker);
    ASSERT_EQ(client.resolve(id, ip("127.0.0.1", port)), 0);
    ASSERT_TRUE(client.has_event(30000));
    rdma_ucm_get_event event{.response = 8};
    EXPECT_EQ(client.write(RDMA_USER_CM_CMD_GET_EVENT, &event, sizeof event, 0x200), EFAULT);
    EXPECT_EQ(client.write(RDMA_USER_CM_CMD_GET_EVENT, &event, sizeof event, 20), ENOSPC);
    client.event(cm_event::address_resolved);  // it was not lost
}

/// Commands of random bytes, most of which name identifiers and memory that there are.
TEST(CmDevice, NoBytesThatAreWrittenDoHarm) {
    Random random(31);
    std::array<CmFile, 2> files = {CmFile(O_NONBLOCK), CmFile(O_NONBLOCK)};
    std::vector<char> answer(8192);  // as long as any option may be
    std::array<std::uint8_t, 700> bytes{};
    std::array<std::uint64_t, 4> answered{};
    for (int i = 0; i < 20000; ++i) {
        CmFile& file = files[random.below(files.size())];
        for (std::uint8_t& byte : bytes) {
            byte = static_cast<std::uint8_t>(random.below(4) == 0 ? random.next() : 0);
        }
        const auto number =
            static_cast<std::uint32_t>(random.below(RDMA_USER_CM_CMD_JOIN_MCAST + 3));
        const auto size = random.below(3) == 0 ? random.below(bytes.size()) : bytes.size();
        // Where commands have identifiers, the pointer to an answer, a port space, and addresses.
        const std::uint32_t id = static_cast<std::uint32_t>(random.below(8));
        for (const std::size_t at : {0U, 8U, 16U, 20U, 24U, 36U, 64U, 264U, 272U, 280U}) {
            if (random.below(2) == 0) std::memcpy(&bytes[at], &id, sizeof id);
        }
        const auto to = random.below(4) == 0 ? 8 : reinterpret_cast<std::uintptr_t>(answer.data());
        // Never anywhere: a sanitizer takes the fault for one of ours.
        switch (number) {
            case RDMA_USER_CM_CMD_CREATE_ID: std::memcpy(&bytes[8], &to, sizeof to); break;
            case RDMA_USER_CM_CMD_DESTROY_ID:
            case RDMA_USER_CM_CMD_QUERY_ROUTE:
            case RDMA_USER_CM_CMD_QUERY:
            case RDMA_USER_CM_CMD_INIT_QP_ATTR:
            case RDMA_USER_CM_CMD_GET_EVENT:
            case RDMA_USER_CM_CMD_SET_OPTION:
            case RDMA_USER_CM_CMD_MIGRATE_ID: std::memcpy(bytes.data(), &to, sizeof to); break;
            default: break;
        }
        const std::uint16_t space = random.below(2) == 0 ? RDMA_PS_TCP : RDMA_PS_UDP;
        if (number == RDMA_USER_CM_CMD_CREATE_ID) std::memcpy(&bytes[16], &space, sizeof space);
        const sockaddr_in address = ip("127.0.0.1", static_cast<std::uint16_t>(random.below(3)));
        for (const std::size_t at : {8U, 28U, 144U}) {
            if (random.below(2) == 0) std::memcpy(&bytes[at], &address, sizeof address);
        }
        const int error = file.write(number, bytes.data(), size,
                                     random.below(4) == 0 ? random.below(100) : answer.size());
        ++answered[error == 0 ? 0 : error == EINVAL ? 1 : error == EFAULT ? 2 : 3];
    }
    for (const std::uint64_t count : answered) EXPECT_GT(count, 20U);
}

TEST_F(Cm, WaitingForAnEventBlocksUnlessTheDescriptorIsNonblocking) {
    rdma_ucm_event_resp answer{};
    ::fcntl(client.handle(), F_SETFL, O_NONBLOCK);
    EXPECT_EQ(client.ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, answer), EAGAIN);
    CmFile opened(O_NONBLOCK);
    EXPECT_EQ(opened.ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, answer), EAGAIN);
    listen();
    std::thread waits([&] { asked = server.event(cm_event::connect_request).id; });
    EXPECT_EQ(client.connect(routed(), CmFile::parameters(0x11, "")), 0);
    waits.join();
}

TEST_F(Cm, AForkedChildCannotUseItsParentsDescriptors) {
    connect();
    const pid_t child = ::fork();
    if (child == 0) {
        const bool refused = client.disconnect(asker) == EIO;
        const bool closed = wireproof_rdma_cm_close(client.handle()) == 0;
        ::_exit(refused && closed ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(client.disconnect(asker), 0);
    EXPECT_EQ(server.event(cm_event::disconnected).uid, uid_of_accepted);
}

/// Another process, with an address of its own, that connects to this port and then does nothing.
[[noreturn]] void connect_and_wait(int ready) {
    std::uint16_t port = 0;
    if (::read(ready, &port, sizeof port) != sizeof port) ::_exit(1);
    CmFile client;
    const std::uint32_t id = client.created(uid_of_asker);
    client.resolve(id, ip("127.0.0.1", port));
    client.event(cm_event::address_resolved);
    client.resolve_route(id);
    client.event(cm_event::route_resolved);
    client.connect(id, CmFile::parameters(0x11, ""));
    client.event(cm_event::connect_response);
    client.accept(id, 0, {});
    for (;;) ::pause();
}

TEST(CmDevice, WhoseOtherSideIsKilledIsTold) {
    std::array<int, 2> pipe{};
    ASSERT_EQ(::pipe(pipe.data()), 0);
    const pid_t other = ::fork();
    if (other == 0) connect_and_wait(pipe[0]);
    CmFile server;
    const std::uint32_t listener = server.created(uid_of_listener);
    ASSERT_EQ(server.bind(listener, ip("0.0.0.0", 0)), 0);
    const std::uint16_t port = port_of(server.query(listener, RDMA_USER_CM_QUERY_ADDR));
    ASSERT_EQ(server.listen(listener), 0);
    ASSERT_EQ(::write(pipe[1], &port, sizeof port), sizeof port);
    const auto request = server.event(cm_event::connect_request);
    ASSERT_EQ(server.accept(request.id, uid_of_accepted, CmFile::parameters(0x22, "")), 0);
    EXPECT_EQ(server.event(cm_event::established).uid, uid_of_accepted);
    EXPECT_FALSE(server.has_event(700));  // it lives, and its life was looked at
    ::kill(other, SIGKILL);
    ::waitpid(other, nullptr, 0);
    EXPECT_EQ(server.event(cm_event::disconnected).uid, uid_of_accepted);
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST(CmDevice, DescriptorsThatAreNoneAreRefused) {
    EXPECT_EQ(wireproof_rdma_cm_close(12345), -1);
    EXPECT_EQ(errno, EBADF);
    EXPECT_EQ(wireproof_rdma_cm_write(12345, "", 0), -1);
    EXPECT_EQ(errno, EBADF);
}

TEST(CmDevice, ADescriptorThatWasClosedUnnoticedIsForgotten) {
    const int lower = ::dup(0);
    const int first = wireproof_rdma_cm_open(0);
    ASSERT_GT(first, lower);
    ::close(first);
    ::close(lower);  // for the descriptor that the device has for itself
    const int second = wireproof_rdma_cm_open(0);
    EXPECT_EQ(second, first);
    EXPECT_EQ(wireproof_rdma_cm_close(second), 0);
    EXPECT_EQ(::fcntl(second, F_GETFD), -1);
}

}  // namespace
}  // namespace wireproof::verbs::test
