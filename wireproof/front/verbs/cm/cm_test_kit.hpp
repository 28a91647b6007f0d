// For tests: writes commands as librdmacm does.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_cm.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "wireproof/front/verbs/cm/events.hpp"
#include "wireproof/front/verbs/hooks/cm_device.h"
#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {

inline sockaddr_in ip(const char* address, std::uint16_t port) {
    sockaddr_in one{};
    one.sin_family = AF_INET;
    one.sin_port = htons(port);
    EXPECT_EQ(inet_pton(AF_INET, address, &one.sin_addr), 1);
    return one;
}

/// An open descriptor of the device.
class CmFile {
public:
    explicit CmFile(int flags = 0) : handle_(wireproof_rdma_cm_open(flags)) {
        EXPECT_GE(handle_, 0) << std::strerror(errno);
    }
    CmFile(const CmFile&) = delete;
    CmFile& operator=(const CmFile&) = delete;
    ~CmFile() { close(); }

    int handle() const { return handle_; }
    void close() {
        EXPECT_EQ(handle_ >= 0 ? wireproof_rdma_cm_close(handle_) : 0, 0);
        handle_ = -1;
    }
    /// Returns 0 or an errno.
    int write(std::uint32_t number, const void* command, std::size_t size, std::size_t room = 0) {
        rdma_ucm_cmd_hdr header{number, static_cast<std::uint16_t>(size),
                                static_cast<std::uint16_t>(room)};
        std::vector<char> bytes(sizeof header + size);
        std::memcpy(bytes.data(), &header, sizeof header);
        if (size > 0) std::memcpy(bytes.data() + sizeof header, command, size);
        errno = 0;
        const ssize_t written = wireproof_rdma_cm_write(handle_, bytes.data(), bytes.size());
        if (written == static_cast<ssize_t>(bytes.size())) return 0;
        EXPECT_EQ(written, -1);
        EXPECT_NE(errno, 0);
        return errno;
    }
    template <class Command>
    int run(std::uint32_t number, const Command& command) {
        return write(number, &command, sizeof command);
    }
    template <class Command, class Answer>
    int ask(std::uint32_t number, Command command, Answer& answer) {
        command.response = reinterpret_cast<std::uintptr_t>(&answer);
        return write(number, &command, sizeof command, sizeof answer);
    }

    int create(std::uint64_t uid, std::uint32_t& id, std::uint16_t space = RDMA_PS_TCP) {
        rdma_ucm_create_id command{};
        command.uid = uid;
        command.ps = space;
        rdma_ucm_create_id_resp answer{};
        const int error = ask(RDMA_USER_CM_CMD_CREATE_ID, command, answer);
        id = answer.id;
        return error;
    }
    std::uint32_t created(std::uint64_t uid, std::uint16_t space = RDMA_PS_TCP) {
        std::uint32_t id = 0;
        EXPECT_EQ(create(uid, id, space), 0);
        return id;
    }
    int destroy(std::uint32_t id, std::uint32_t* events = nullptr) {
        rdma_ucm_destroy_id command{};
        command.id = id;
        rdma_ucm_destroy_id_resp answer{};
        const int error = ask(RDMA_USER_CM_CMD_DESTROY_ID, command, answer);
        if (events != nullptr) *events = answer.events_reported;
        return error;
    }
    int bind(std::uint32_t id, const sockaddr_in& address) {
        rdma_ucm_bind command{};
        command.id = id;
        command.addr_size = sizeof address;
        std::memcpy(&command.addr, &address, sizeof address);
        return run(RDMA_USER_CM_CMD_BIND, command);
    }
    int listen(std::uint32_t id, std::uint32_t backlog = 0) {
        return run(RDMA_USER_CM_CMD_LISTEN, rdma_ucm_listen{id, backlog});
    }
    int resolve(std::uint32_t id, const sockaddr_in& address, std::uint32_t timeout = 2000) {
        rdma_ucm_resolve_addr command{};
        command.id = id;
        command.timeout_ms = timeout;
        command.dst_size = sizeof address;
        std::memcpy(&command.dst_addr, &address, sizeof address);
        return run(RDMA_USER_CM_CMD_RESOLVE_ADDR, command);
    }
    int resolve_route(std::uint32_t id) {
        return run(RDMA_USER_CM_CMD_RESOLVE_ROUTE, rdma_ucm_resolve_route{id, 2000});
    }
    static rdma_ucm_conn_param parameters(std::uint32_t queue_pair, const std::string& told) {
        rdma_ucm_conn_param one{};
        one.qp_num = queue_pair;
        one.responder_resources = 3;
        one.initiator_depth = 2;
        one.retry_count = 9;
        one.rnr_retry_count = 9;
        one.valid = 1;
        one.private_data_len = static_cast<std::uint8_t>(told.size());
        std::memcpy(one.private_data, told.data(), told.size());
        return one;
    }
    int connect(std::uint32_t id, const rdma_ucm_conn_param& asked) {
        rdma_ucm_connect command{};
        command.id = id;
        command.conn_param = asked;
        return run(RDMA_USER_CM_CMD_CONNECT, command);
    }
    int accept(std::uint32_t id, std::uint64_t uid, const rdma_ucm_conn_param& asked) {
        rdma_ucm_accept command{};
        command.id = id;
        command.uid = uid;
        command.conn_param = asked;
        return run(RDMA_USER_CM_CMD_ACCEPT, command);
    }
    int disconnect(std::uint32_t id) {
        return run(RDMA_USER_CM_CMD_DISCONNECT, rdma_ucm_disconnect{id});
    }
    int reject(std::uint32_t id, const std::string& why) {
        rdma_ucm_reject command{};
        command.id = id;
        command.private_data_len = static_cast<std::uint8_t>(why.size());
        std::memcpy(command.private_data, why.data(), why.size());
        return run(RDMA_USER_CM_CMD_REJECT, command);
    }
    int attributes(std::uint32_t id, std::uint32_t state, ib_uverbs_qp_attr& answer) {
        rdma_ucm_init_qp_attr command{};
        command.id = id;
        command.qp_state = state;
        return ask(RDMA_USER_CM_CMD_INIT_QP_ATTR, command, answer);
    }
    rdma_ucm_query_addr_resp query(std::uint32_t id, std::uint32_t option) {
        rdma_ucm_query command{};
        command.id = id;
        command.option = option;
        rdma_ucm_query_addr_resp answer{};
        EXPECT_EQ(ask(RDMA_USER_CM_CMD_QUERY, command, answer), 0);
        return answer;
    }

    bool has_event(std::int64_t milliseconds) const {
        pollfd wanted{handle_, POLLIN, 0};
        return ::poll(&wanted, 1, static_cast<int>(milliseconds)) == 1;
    }
    /// Waits for the next event, which must be of this kind.
    rdma_ucm_event_resp event(std::uint32_t kind) {
        rdma_ucm_event_resp answer{};
        if (!has_event(patience.count())) {
            ADD_FAILURE() << "no event " << kind;
            return answer;
        }
        EXPECT_EQ(ask(RDMA_USER_CM_CMD_GET_EVENT, rdma_ucm_get_event{}, answer), 0);
        EXPECT_EQ(answer.event, kind);
        return answer;
    }

private:
    int handle_;
};

inline constexpr std::uint64_t uid_of_listener = 0x1111;
inline constexpr std::uint64_t uid_of_asker = 0x2222;
inline constexpr std::uint64_t uid_of_accepted = 0x3333;

inline std::uint16_t port_of(const rdma_ucm_query_addr_resp& answer) {
    sockaddr_in address{};
    std::memcpy(&address, &answer.src_addr, sizeof address);
    return ntohs(address.sin_port);
}

/// A process with an address of its own.
class CmPeerProcess {
public:
    CmPeerProcess() {
        EXPECT_EQ(::pipe(pipe_.data()), 0);
        process_ = ::fork();
        if (process_ == 0) connect_and_wait();
    }
    CmPeerProcess(const CmPeerProcess&) = delete;
    CmPeerProcess& operator=(const CmPeerProcess&) = delete;
    ~CmPeerProcess() {
        kill();
        for (const int handle : pipe_) ::close(handle);
    }

    /// Connects it to a new listener.
    void connect_to(CmFile& server) {
        const std::uint32_t listener = server.created(uid_of_listener);
        ASSERT_EQ(server.bind(listener, ip("0.0.0.0", 0)), 0);
        const std::uint16_t port = port_of(server.query(listener, RDMA_USER_CM_QUERY_ADDR));
        ASSERT_EQ(server.listen(listener), 0);
        ASSERT_EQ(::write(pipe_[1], &port, sizeof port), ssize_t{sizeof port});
        const auto request = server.event(cm_event::connect_request);
        ASSERT_EQ(server.accept(request.id, uid_of_accepted, CmFile::parameters(0x22, "")), 0);
        EXPECT_EQ(server.event(cm_event::established).uid, uid_of_accepted);
    }
    void kill() {
        if (process_ <= 0) return;
        ::kill(process_, SIGKILL);
        ::waitpid(process_, nullptr, 0);
        process_ = 0;
    }

private:
    [[noreturn]] void connect_and_wait() {
        std::uint16_t port = 0;
        if (::read(pipe_[0], &port, sizeof port) != ssize_t{sizeof port}) ::_exit(1);
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

    std::array<int, 2> pipe_{};
    pid_t process_ = 0;
};

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
    /// An identifier that is ready to connect to the listener.
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
    /// Connects both sides.
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

}  // namespace wireproof::verbs::test
