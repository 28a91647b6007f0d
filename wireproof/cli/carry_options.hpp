// The options that carry, send and recv have in common.
#pragma once

#include "wireproof/app/transfer/carry_run.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wireproof::cli {

/// --loss, --ber, --duplicate, --reorder and --seed; without the last the system chooses one.
void add_fault_options(CLI::App& verb, CarryOptions& options);
/// --mtu, which is returned, and --peer-timeout.
CLI::Option* add_path_options(CLI::App& verb, CarryOptions& options);

/// The seed asked for, or one from the system instead of 0.
std::uint64_t chosen_seed(std::uint64_t asked);

}  // namespace wireproof::cli
