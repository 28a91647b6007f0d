// The process that answers a measurement, and the processors for both processes.
#pragma once

#include <sys/types.h>

#include <functional>

namespace wireproof::app {

/// Binds this process to the processor with index `which` of those that it may use. False: there is
/// only one.
bool pin_to_processor(std::size_t which);

class PerfProcess {
public:
    PerfProcess() = default;
    /// Ends the process if it still runs.
    ~PerfProcess();
    PerfProcess(const PerfProcess&) = delete;
    PerfProcess& operator=(const PerfProcess&) = delete;

    /// Forks. The child is pinned to another processor, runs `life` and ends. Throws Failure.
    void start(const std::function<void()>& life);
    /// 0 if no process was started, or if it has ended.
    pid_t id() const { return id_; }
    /// Throws Failure if the process has ended, unless `may_end` is true and it ended without an
    /// error. Throws Interrupted if a signal asked this process to end.
    void look(bool may_end);
    /// The same, after its end of the wire is gone. A process that ends closes its end before its
    /// parent can see that it ended, so this waits up to a second for it.
    void look_at_end(bool may_end);

private:
    pid_t id_ = 0;
};

}  // namespace wireproof::app
