// A kernel that refuses to watch a socket, because the user watches too many descriptors already
// (/proc/sys/fs/epoll/max_user_watches). The program has its own epoll_ctl, which refuses when a
// test wants it to.
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <limits>

#include "wireproof/wire/shm/shm_test_kit.hpp"

namespace {
constexpr int any_number = std::numeric_limits<int>::max();
int watches_left = any_number;
}  // namespace

extern "C" int epoll_ctl(int set, int operation, int handle, epoll_event* event) noexcept {
    if (operation == EPOLL_CTL_ADD && watches_left == 0) {
        errno = ENOSPC;
        return -1;
    }
    if (operation == EPOLL_CTL_ADD) --watches_left;
    return static_cast<int>(::syscall(SYS_epoll_ctl, set, operation, handle, event));
}

namespace wireproof {
namespace {

using namespace shm_test;

constexpr const char* refused = "cannot watch a socket: No space left on device";

class RefusedWatches : public testing::Test {
public:
    ~RefusedWatches() override { watches_left = any_number; }
};

TEST_F(RefusedWatches, AWireThatCannotWatchItsListenerIsNotOpened) {
    watches_left = 0;
    const std::string name = unique_name();
    EXPECT_EQ(error_of({.name = name}), std::string("shm wire: ") + refused);
    watches_left = any_number;
    EXPECT_EQ(error_of({.name = name}), "none") << "its place is free";
}

TEST_F(RefusedWatches, AnInheritedSocketThatCannotBeWatchedIsNotAdopted) {
    const std::size_t before = open_descriptors();
    for (const std::size_t node : {0U, 1U}) {
        watches_left = 0;
        auto sockets = ControlSocket::pair();
        ASSERT_TRUE(sockets.has_value());
        const auto adopted = ShmWire::adopt({.node = node}, std::move(sockets->first));
        ASSERT_FALSE(adopted.has_value());
        EXPECT_NE(adopted.error().message.find(refused), std::string::npos)
            << adopted.error().message;
    }
    EXPECT_EQ(open_descriptors(), before);
}

// The node with the greater number watches its call; the other one watches the caller, and again as
// its peer. Each of these may be refused.
TEST_F(RefusedWatches, NodesMeetOnceTheKernelPermitsIt) {
    for (int permitted = 0; permitted < 3; ++permitted) {
        const std::string name = unique_name();
        Time time;
        ShmWire b = open({.name = name, .node = 1});
        ShmWire a = open({.name = name, .node = 0});
        watches_left = permitted;
        for (int i = 0; i < 50; ++i) {
            if (watches_left == 0) break;
            b.receive(time.pass());
            a.receive(time.now());
        }
        std::string cause;
        for (int i = 0; i < 50 && cause.empty(); ++i) {
            b.receive(time.pass());
            a.receive(time.now());
            cause = (permitted == 0 ? b.trouble(zero) : a.trouble(one)).cause;
        }
        EXPECT_EQ(cause, refused) << permitted;
        EXPECT_FALSE(a.connected(one) || b.connected(zero));
        watches_left = any_number;
        ASSERT_TRUE(meet(a, one, b, zero, time)) << permitted;
        EXPECT_EQ(a.trouble(one).cause + b.trouble(zero).cause, "");
        ASSERT_TRUE(send(b, zero, "here"));
        EXPECT_EQ(next(a, time.now()), "1:here");
    }
}

}  // namespace
}  // namespace wireproof
