// The options that carry, send and recv have in common.
#pragma once

#include "wireproof/app/transfer/carry_run.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wireproof::cli {

/// Adds --loss, --ber, --duplicate, --reorder and --seed. Without --seed, the system chooses a
/// seed.
void add_fault_options(CLI::App& subcommand, app::CarryOptions& options);
/// Adds --mtu and --peer-timeout, and returns --mtu.
CLI::Option* add_path_options(CLI::App& subcommand, app::CarryOptions& options);

/// The seed that was asked for. If it is 0, the system chooses one.
std::uint64_t chosen_seed(std::uint64_t asked);

}  // namespace wireproof::cli
