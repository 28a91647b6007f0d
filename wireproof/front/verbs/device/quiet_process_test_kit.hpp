// The other end of a connection, in a process of its own.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "wireproof/front/verbs/objects/verbs_test_kit.hpp"

namespace wireproof::verbs::test {

/// It makes no call after it is connected. It must begin before this process has the device.
class QuietProcess {
public:
    using Work = int (*)(End&);  // returns an exit code; 0: all is right

    /// The process does `begin` when it is connected, and `end` when this object ends.
    explicit QuietProcess(Work begin = &nothing, Work end = &nothing) {
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, pipe_.data()), 0);
        child_ = ::fork();
        if (child_ == 0) {
            ::close(pipe_[0]);
            ::_exit(run(pipe_[1], begin, end));
        }
        ::close(pipe_[1]);
    }
    QuietProcess(const QuietProcess&) = delete;
    QuietProcess& operator=(const QuietProcess&) = delete;
    ~QuietProcess() {
        ::close(pipe_[0]);  // the child waits for that
        int status = 0;
        ::waitpid(child_, &status, 0);
        EXPECT_EQ(status, killed_ ? SIGKILL : 0);
    }
    void kill() {
        ::kill(child_, SIGKILL);
        killed_ = true;
        siginfo_t died{};
        ::waitid(P_PID, static_cast<id_t>(child_), &died, WEXITED | WNOWAIT);
    }
    Contact meet(const Contact& own) {
        Contact there{};
        EXPECT_EQ(::write(pipe_[0], &own, sizeof own), static_cast<ssize_t>(sizeof own));
        EXPECT_EQ(::read(pipe_[0], &there, sizeof there), static_cast<ssize_t>(sizeof there));
        return there;
    }

private:
    static int nothing(End&) { return 0; }
    static int run(int pipe, Work begin, Work at_end) {
        End end;
        Contact there{};
        const Contact own = end.contact();
        if (::read(pipe, &there, sizeof there) != sizeof there) return 1;
        end.connect(there);
        if (const int code = begin(end); code != 0) return code;
        if (::write(pipe, &own, sizeof own) != sizeof own) return 2;
        char none = 0;
        if (::read(pipe, &none, 1) != 0) return 3;
        return at_end(end);
    }

    std::array<int, 2> pipe_{};
    pid_t child_ = -1;
    bool killed_ = false;
};

}  // namespace wireproof::verbs::test
