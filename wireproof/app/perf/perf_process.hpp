// The process that answers a measurement, and the processors that both run on.
#pragma once

#include <sys/types.h>

#include <functional>

namespace wireproof::cli {

/// Binds this process to the `which`th processor that it may use. False: there is only one.
bool pin_to_processor(std::size_t which);

class PerfProcess {
public:
    PerfProcess() = default;
    /// Ends the process, if it still runs.
    ~PerfProcess();
    PerfProcess(const PerfProcess&) = delete;
    PerfProcess& operator=(const PerfProcess&) = delete;

    /// Forks; the child is pinned to another processor, runs `life` and ends. Throws Failure.
    void start(const std::function<void()>& life);
    /// 0: none was started, or it has ended.
    pid_t id() const { return id_; }
    /// Throws Failure once the process has ended, unless `may_end` and it ended without an error;
    /// Interrupted once a signal asked this process to end.
    void look(bool may_end);
    /// The same, where its end of the wire is gone: a process that ends closes that before its
    /// parent can see it end, so this waits up to a second for it.
    void look_at_end(bool may_end);

private:
    pid_t id_ = 0;
};

}  // namespace wireproof::cli
