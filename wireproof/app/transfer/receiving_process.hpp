// The receiving half of a carry over sockets: a child process that tells what came of it through a
// pipe, and is never left behind.
#pragma once

#include <sys/types.h>

#include <array>
#include <functional>
#include <optional>
#include <string>

#include "wireproof/app/transfer/carry_run.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::cli {

/// What the child tells: plain bytes, few enough for a pipe to take at once.
struct ChildReport {
    bool verified = false;
    SideCounts counts;
    std::array<char, 1024> failure{};  // one line, ends in a zero; empty: none

    void set_failure(const std::string& why);
};

class ReceivingProcess {
public:
    /// Forks. The child does `life`, tells its report, and ends; here the constructor returns.
    explicit ReceivingProcess(const std::function<ChildReport()>& life);
    /// Ends the child if it has not.
    ~ReceivingProcess();
    ReceivingProcess(const ReceivingProcess&) = delete;
    ReceivingProcess& operator=(const ReceivingProcess&) = delete;

    /// The report, once there is one; waits so long for it.
    const std::optional<ChildReport>& report(Duration patience = {});
    /// A line once the child has failed or gone without a report.
    std::string failure();
    /// Asks the child to end; what it then reports of itself can still be read.
    void stop();

private:
    [[noreturn]] void live(const std::function<ChildReport()>& life);
    bool wait_for_bytes(Duration patience) const;
    void collect();

    pid_t pid_ = 0;  // 0: gone, and waited for
    int status_ = 0;
    int from_child_ = -1;
    int to_parent_ = -1;
    std::optional<ChildReport> report_;
};

}  // namespace wireproof::cli
