// The options that carry, send and recv have in common.
#pragma once

#include "wireproof/cli/carry_run.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wireproof::cli {

/// --loss, --ber, --duplicate, --reorder and --seed; without the last the system chooses one.
void add_fault_options(CLI::App& verb, CarryOptions& options);
/// --mtu and --peer-timeout.
void add_path_options(CLI::App& verb, CarryOptions& options);

/// Has an option take numbers of this range only: no NaN, no sign, nothing that does not fit.
void accept_range(CLI::Option& option, double least, double most);
void accept_whole(CLI::Option& option, std::uint64_t least, std::uint64_t most);

/// The seed asked for, or one from the system instead of 0.
std::uint64_t chosen_seed(std::uint64_t asked);

}  // namespace wireproof::cli
