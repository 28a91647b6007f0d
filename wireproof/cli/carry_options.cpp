#include "wireproof/cli/carry_options.hpp"

#include <CLI/CLI.hpp>

#include <limits>
#include <random>

#include "wireproof/cli/numbers.hpp"

namespace wireproof::cli {
namespace {

void add_probability(CLI::App& subcommand, const char* name, double& value, const char* what) {
    accept_range(*subcommand.add_option(name, value, what)->type_name("P"), 0, 1);
}

}  // namespace

void add_fault_options(CLI::App& subcommand, app::CarryOptions& options) {
    FaultRates& faults = options.faults;
    add_probability(subcommand, "--loss", faults.loss,
                    "lose a frame, with a probability of 0 to 1");
    add_probability(subcommand, "--ber", faults.bit_error, "flip a bit, with this probability");
    add_probability(subcommand, "--duplicate", faults.duplicate,
                    "send a frame twice, with this probability");
    add_probability(subcommand, "--reorder", faults.reorder,
                    "hold a frame back behind the next 1 to 8, with this probability");
    options.seed = chosen_seed(0);
    accept_whole(
        *subcommand
             .add_option("--seed", options.seed, "seed of faults and sessions: it repeats a run")
             ->type_name("N"),
        0, std::numeric_limits<std::uint64_t>::max());
}

CLI::Option* add_path_options(CLI::App& subcommand, app::CarryOptions& options) {
    CLI::Option* const mtu =
        subcommand
            .add_option("--mtu", options.mtu, "IP packet, 128 to 65535 bytes, same at both ends")
            ->type_name("N")
            ->capture_default_str();
    accept_whole(*mtu, 128, 65535);
    accept_range(*subcommand
                      .add_option("--peer-timeout", options.peer_timeout,
                                  "seconds of silence after which a side gives up")
                      ->type_name("S")
                      ->capture_default_str(),
                 0.1, 86400);
    return mtu;
}

std::uint64_t chosen_seed(std::uint64_t asked) {
    if (asked != 0) return asked;
    std::random_device system;
    // A short number, so that the user can type it again.
    return 1 + system() % 1'000'000'000;
}

}  // namespace wireproof::cli
