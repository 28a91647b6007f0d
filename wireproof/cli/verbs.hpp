// The verbs of the command. Each adds itself to the parser and leaves behind what to run.
#pragma once

#include <functional>
#include <stdexcept>
#include <string>
#include <utility>

#include "wireproof/base/expected.hpp"

namespace CLI {
class App;
}

namespace wireproof::cli {

/// Exit codes: the command line was not understood; it was, and failed.
inline constexpr int exit_usage = 2;
inline constexpr int exit_failed = 1;

/// What a verb could not do, in one line; main prints it and ends with exit_failed.
class Failure : public std::runtime_error {
public:
    using std::runtime_error::runtime_error;
};

/// The value; a Failure with its error if there is none.
template <class T>
T opened(Expected<T> value) {
    if (!value) throw Failure(value.error().message);
    return std::move(*value);
}

/// Runs the chosen verb; returns the exit code.
using Run = std::function<int()>;

void add_carry(CLI::App& app, Run& run);
void add_send(CLI::App& app, Run& run);
void add_recv(CLI::App& app, Run& run);
void add_sp2(CLI::App& app, Run& run);
void add_soak(CLI::App& app, Run& run);
void add_ladder(CLI::App& app, Run& run);
void add_perf(CLI::App& app, Run& run);
void add_search(CLI::App& app, Run& run);
void add_inspect(CLI::App& app, Run& run);
void add_stat(CLI::App& app, Run& run);
void add_sweep(CLI::App& app, Run& run);
// Where there is a libibverbs of ours.
void add_verbs(CLI::App& app, Run& run);
void add_doctor(CLI::App& app, Run& run);

}  // namespace wireproof::cli
