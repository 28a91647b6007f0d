// The descriptors of rdma_cm: arbitrary bytes, waits, forks, killed peers, and numbers that are
// reused.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <thread>

#include "wireproof/base/random.hpp"
#include "wireproof/front/verbs/cm/cm_test_kit.hpp"

namespace wireproof::verbs::test {
namespace {

/// Commands of random bytes. Most of them name identifiers and memory that exist.
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
        // The places of identifiers, of the pointer to an answer, of a port space, and of
        // addresses.
        const std::uint32_t id = static_cast<std::uint32_t>(random.below(8));
        for (const std::size_t at : {0U, 8U, 16U, 20U, 24U, 36U, 64U, 264U, 272U, 280U}) {
            if (random.below(2) == 0) std::memcpy(&bytes[at], &id, sizeof id);
        }
        const auto to = random.below(4) == 0 ? 8 : reinterpret_cast<std::uintptr_t>(answer.data());
        // The pointer is never random: a sanitizer would report the fault as our defect.
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

TEST(CmDevice, WhoseOtherSideIsKilledGetsAnEvent) {
    CmPeerProcess peer;
    CmFile server;
    peer.connect_to(server);
    EXPECT_FALSE(server.has_event(700));  // the peer lives, and the device has looked at it
    peer.kill();
    EXPECT_EQ(server.event(cm_event::disconnected).uid, uid_of_accepted);
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
    ::close(lower);  // the device itself needs one descriptor more
    const int second = wireproof_rdma_cm_open(0);
    EXPECT_EQ(second, first);
    EXPECT_EQ(wireproof_rdma_cm_close(second), 0);
    EXPECT_EQ(::fcntl(second, F_GETFD), -1);
}

}  // namespace
}  // namespace wireproof::verbs::test
