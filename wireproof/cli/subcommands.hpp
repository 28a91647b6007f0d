// The subcommands of the command. Each adds itself to the parser. If the user chooses it, it stores
// the function to run.
#pragma once

#include <functional>

#include "wireproof/app/common/failure.hpp"

namespace CLI {
class App;
}

namespace wireproof::cli {

/// The exit code if the command line is wrong. If it is right and the subcommand fails:
/// app::exit_failed.
inline constexpr int exit_usage = 2;

/// Runs the chosen subcommand; returns the exit code.
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
void add_launch(CLI::App& app, Run& run);
// Only in builds that have our libibverbs.
void add_verbs(CLI::App& app, Run& run);
void add_doctor(CLI::App& app, Run& run);

}  // namespace wireproof::cli
