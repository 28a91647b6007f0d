// No file is opened while a thread holds the device's lock: each open takes as long as the file
// system and the kernel please, and packets would wait. This program defines the functions that
// open files and that lock again, and counts.
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <linux/netlink.h>
#include <pthread.h>
#include <sys/socket.h>

#include <atomic>
#include <cstdarg>
#include <cstdio>

#include "wireproof/front/verbs/cm/cm_test_kit.hpp"
#include "wireproof/front/verbs/objects/context.hpp"
#include "wireproof/wire/udp/own_hosts_test_kit.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof::verbs::cm_files_test {
namespace {

std::atomic<const void*> device_lock = nullptr;
thread_local const void* last_locked = nullptr;
thread_local bool holds_device_lock = false;

std::atomic<int> opened = 0;
std::atomic<int> opened_under_lock = 0;

void note_opened() {
    ++opened;
    if (holds_device_lock) ++opened_under_lock;
}

void note_locked(const void* lock) {
    last_locked = lock;
    if (lock == device_lock) holds_device_lock = true;
}

/// The function of this name that would run if this program did not define it.
template <class Function>
Function* next(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

bool has_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

}  // namespace
}  // namespace wireproof::verbs::cm_files_test

namespace counted = wireproof::verbs::cm_files_test;

extern "C" {

int pthread_mutex_lock(pthread_mutex_t* lock) noexcept {
    static auto* const passed = counted::next<int(pthread_mutex_t*)>("pthread_mutex_lock");
    const int error = passed(lock);
    if (error == 0) counted::note_locked(lock);
    return error;
}

int pthread_mutex_trylock(pthread_mutex_t* lock) noexcept {
    static auto* const passed = counted::next<int(pthread_mutex_t*)>("pthread_mutex_trylock");
    const int error = passed(lock);
    if (error == 0) counted::note_locked(lock);
    return error;
}

int pthread_mutex_unlock(pthread_mutex_t* lock) noexcept {
    static auto* const passed = counted::next<int(pthread_mutex_t*)>("pthread_mutex_unlock");
    if (lock == counted::device_lock) counted::holds_device_lock = false;
    return passed(lock);
}

int open(const char* path, int flags, ...) {
    static auto* const passed = counted::next<int(const char*, int, mode_t)>("open");
    mode_t mode = 0;
    if (counted::has_mode(flags)) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    counted::note_opened();
    return passed(path, flags, mode);
}

int openat(int folder, const char* path, int flags, ...) {
    static auto* const passed = counted::next<int(int, const char*, int, mode_t)>("openat");
    mode_t mode = 0;
    if (counted::has_mode(flags)) {
        va_list more;
        va_start(more, flags);
        mode = va_arg(more, mode_t);
        va_end(more);
    }
    counted::note_opened();
    return passed(folder, path, flags, mode);
}

FILE* fopen(const char* path, const char* how) {
    static auto* const passed = counted::next<FILE*(const char*, const char*)>("fopen");
    counted::note_opened();
    return passed(path, how);
}

// The C++ library calls it for a std::ifstream.
FILE* fopen64(const char* path, const char* how) {
    static auto* const passed = counted::next<FILE*(const char*, const char*)>("fopen64");
    counted::note_opened();
    return passed(path, how);
}

DIR* opendir(const char* path) {
    static auto* const passed = counted::next<DIR*(const char*)>("opendir");
    counted::note_opened();
    return passed(path);
}

int getifaddrs(ifaddrs** all) noexcept {
    static auto* const passed = counted::next<int(ifaddrs**)>("getifaddrs");
    counted::note_opened();
    return passed(all);
}

/// A question to the kernel by netlink may take as long as reading a file.
int socket(int family, int type, int protocol) noexcept {
    static auto* const passed = counted::next<int(int, int, int)>("socket");
    if (family == AF_NETLINK) counted::note_opened();
    return passed(family, type, protocol);
}

}  // extern "C"

namespace wireproof::verbs::test {
namespace {

class CmFiles : public Cm {
protected:
    void SetUp() override {
        shared_device().value()->locked([](proto::ib::Port&) {
            counted::device_lock = counted::last_locked;
            return 0;
        });
        counted::opened = counted::opened_under_lock = 0;
    }
    void TearDown() override {
        EXPECT_GT(counted::opened, 0);
        EXPECT_EQ(counted::opened_under_lock, 0);
        counted::device_lock = nullptr;
    }
};

TEST_F(CmFiles, AreNotOpenedUnderTheLockByAConnection) {
    connect();
    ASSERT_EQ(client.disconnect(asker), 0);
    server.event(cm_event::disconnected);
    EXPECT_EQ(client.destroy(asker), 0);
    EXPECT_EQ(server.destroy(listener), 0);
}

TEST_F(CmFiles, AreNotOpenedUnderTheLockByPortsThatAreSharedOrChosen) {
    const std::uint32_t first = server.created(uid_of_listener);
    EXPECT_EQ(server.listen(first), 0);  // binds it first
    const int on = 1;
    rdma_ucm_set_option shares{};
    shares.id = server.created(uid_of_listener);
    shares.level = RDMA_OPTION_ID;
    shares.optname = RDMA_OPTION_ID_REUSEADDR;
    shares.optval = reinterpret_cast<std::uintptr_t>(&on);
    shares.optlen = sizeof on;
    ASSERT_EQ(server.run(RDMA_USER_CM_CMD_SET_OPTION, shares), 0);
    EXPECT_EQ(server.bind(shares.id, ip("127.0.0.1", 0)), 0);
    EXPECT_EQ(server.listen(shares.id), 0);
    server.close();  // with both
}

TEST_F(CmFiles, AreNotOpenedUnderTheLockWhileNobodyHasTheName) {
    const std::uint32_t id = client.created(uid_of_asker);
    ASSERT_EQ(client.resolve(id, ip("127.0.0.1", 7)), 0);
    const int at_first = counted::opened;
    client.event(cm_event::address_resolved);
    EXPECT_GT(counted::opened, at_first) << "it looked again";
}

// The device has not met the other process, which is a plain socket. So it looks.
TEST_F(CmFiles, AreNotOpenedUnderTheLockWhileAPeerIsLookedAfter) {
    Address address = wireproof::test::own_host(7);
    address.port = rocev2_port;
    std::optional<UdpSocket> process = UdpSocket::open({.local = address}).value();
    const std::uint32_t id = client.created(uid_of_asker);
    ASSERT_EQ(client.resolve(id, ip(address.host_text().c_str(), 7)), 0);
    client.event(cm_event::address_resolved);
    ASSERT_EQ(client.resolve_route(id), 0);
    client.event(cm_event::route_resolved);
    ASSERT_EQ(client.connect(id, CmFile::parameters(0x11, "")), 0);
    const int asked = counted::opened;
    EXPECT_FALSE(client.has_event(700));
    process.reset();
    client.event(cm_event::rejected);
    EXPECT_GT(counted::opened, asked);
}

// The device has met the other process.
TEST_F(CmFiles, AreNotOpenedUnderTheLockWhenAPeerIsKilled) {
    CmPeerProcess peer;
    peer.connect_to(server);
    peer.kill();
    EXPECT_EQ(server.event(cm_event::disconnected).uid, uid_of_accepted);
}

}  // namespace
}  // namespace wireproof::verbs::test
