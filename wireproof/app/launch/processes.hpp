// Processes of a job. Each rank leads a process group of its own, so that a signal reaches its
// children, too, and a Ctrl-C on the terminal reaches only the launcher.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "wireproof/app/launch/rank_command.hpp"
#include "wireproof/base/expected.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::launch {

/// Ends the ranks of this host if the launcher dies, even by SIGKILL. It is a process in a group of
/// its own that gets the numbers of the ranks through a pipe. When the launcher is gone, the pipe
/// ends. A watch of the parent's death by the kernel would not reach the children of a rank.
class EndWatch {
public:
    static Expected<EndWatch> start();
    EndWatch(EndWatch&&) = default;
    EndWatch& operator=(EndWatch&&) = delete;
    /// Waits until the process has ended.
    ~EndWatch();

    pid_t process() const { return process_; }
    /// The rank calls this itself before it runs the program, so no rank is ever without a watch.
    void add(pid_t group) const { tell(group); }
    /// Call it before the number of the group is free for another process.
    void remove(pid_t group) const { tell(-group); }

private:
    EndWatch(pid_t process, Descriptor pipe) : process_(process), pipe_(std::move(pipe)) {}
    void tell(pid_t number) const;

    pid_t process_;
    Descriptor pipe_;
};

struct Start {
    std::vector<std::string> command;
    Variables variables;
    const EndWatch* watch = nullptr;  // null: no watch, because the process ends by itself
    int input = -1;                   // -1: /dev/null
    int output = -1;                  // -1: those of the launcher
    int errors = -1;
    std::function<void()> before_exec;  // in the new process
};

struct NotStarted {
    std::string what;
    int error = 0;           // errno
    bool is_program = true;  // the program cannot be run; else the system has no room for a process
};

/// Returns the process, which also is the number of its group.
ExpectedOr<pid_t, NotStarted> start(const Start& start);

}  // namespace wireproof::launch
