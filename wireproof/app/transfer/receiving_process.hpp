// The receiving half of a carry: a child process that sends its result through a pipe. The parent
// always ends it.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/os/pipe.hpp"

namespace wireproof::app {

/// The report of the child: plain bytes, few enough for one write to a pipe.
struct ChildReport {
    bool verified = false;
    SideCounts counts;
    std::array<char, 1024> failure{};  // one line, ends with a zero byte; empty: none

    void set_failure(const std::string& why);
};

class ReceivingProcess {
public:
    /// Forks. The child runs `life`, sends its report, and ends. In the parent, the constructor
    /// returns.
    explicit ReceivingProcess(const std::function<ChildReport()>& life);
    /// Ends the child if it still runs.
    ~ReceivingProcess();
    ReceivingProcess(const ReceivingProcess&) = delete;
    ReceivingProcess& operator=(const ReceivingProcess&) = delete;

    /// Returns the report if there is one. Waits for it for up to the given time.
    const std::optional<ChildReport>& report(Duration patience = {});
    /// One line if the child has failed or ended without a report; otherwise empty.
    std::string failure();
    /// Asks the child to end. Its report can still be read afterwards.
    void stop();

private:
    [[noreturn]] void live(const std::function<ChildReport()>& life);
    bool wait_for_bytes(Duration patience) const;
    void collect();

    pid_t pid_ = 0;  // 0: ended, and waited for
    int status_ = 0;
    Pipe pipe_ = Pipe::make();  // from the child to the parent
    std::optional<ChildReport> report_;
};

}  // namespace wireproof::app
