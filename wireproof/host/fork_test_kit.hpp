// For tests: runs code in a forked child.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace wireproof::host::test {

/// Calls `body` in a forked child and returns its result, 0 to 255, or minus the number of the
/// signal that ended the child. A child that hangs is ended after two minutes.
template <class Body>
int in_child(Body&& body) {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(120);
        ::_exit(body());
    }
    int status = 0;
    ::waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace wireproof::host::test
