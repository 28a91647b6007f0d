// For tests: network namespaces of this process, and commands that run in the one of the calling
// thread.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string>

#include "wireproof/base/check.hpp"
#include "wireproof/wire/udp/peers_test_kit.hpp"

namespace wireproof::test {

inline bool ran(const std::string& command) {
    return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

/// A device needs a moment after its setup before it takes packets.
inline bool is_ready(const std::string& device) {
    for (int waited = 0; waited < patience; waited += 20) {
        if (ran("ip link show " + device + " | grep -q 'state UP'")) return true;
        ::usleep(20'000);
    }
    return false;
}

/// The kernel makes the route to a new address of this host a moment after the address.
inline bool is_ours(const std::string& address) {
    for (int waited = 0; waited < patience; waited += 20) {
        if (ran("ip route get " + address + " | grep -q '^local'")) return true;
        ::usleep(20'000);
    }
    return false;
}

/// A network namespace that the calling thread may enter.
class Namespace {
public:
    /// Makes a namespace and moves the calling thread into it.
    Namespace() {
        if (::unshare(CLONE_NEWNET) != 0) {
            // Not permitted, not built in, or no more of them. Nothing else means that there are
            // none here.
            WIREPROOF_CHECK(errno == EPERM || errno == EINVAL || errno == ENOSPC);
            return;
        }
        handle_ = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
        WIREPROOF_CHECK(handle_ >= 0);
    }
    ~Namespace() {
        if (handle_ >= 0) ::close(handle_);
    }
    Namespace(const Namespace&) = delete;
    Namespace& operator=(const Namespace&) = delete;

    bool is_there() const { return handle_ >= 0; }
    void enter() const { ASSERT_EQ(::setns(handle_, CLONE_NEWNET), 0); }
    std::string path() const {
        return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(handle_);
    }

private:
    int handle_ = -1;
};

}  // namespace wireproof::test
