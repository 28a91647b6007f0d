// A job: the ranks of one program, on this host or on others, from their start to their end.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::launch {

/// A rank that was asked to end gets SIGKILL after this time, so that all have ended within a
/// second.
inline constexpr Duration grace = Duration::milliseconds(800);

struct JobPlan {
    std::vector<std::string> program;   // and its arguments
    std::size_t size = 1;               // ranks
    std::vector<std::string> hosts;     // one for each rank; empty: all run on this host
    std::string ssh;                    // the command that reaches another host
    std::string address;                // of this host for the others; empty: ssh tells it
    bool keep_going = false;            // the others run on when a rank has failed
    bool prefix = false;                // mark each line of output with its rank
    std::function<void()> before_exec;  // in the process of each rank
    std::function<void(const std::string& line)> report;  // one line for the user
};

// The exit codes of a shell.
inline constexpr int exit_no_program = 127;
inline constexpr int exit_not_run = 126;
inline constexpr int exit_of_signal = 128;  // and the number of the signal

/// Runs the job. Returns the exit code of the rank that failed first, or 0. The error says why the
/// job could not run; all its processes have then ended.
Expected<int> run_job(const JobPlan& plan);

}  // namespace wireproof::launch
