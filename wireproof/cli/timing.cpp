#include "wireproof/cli/timing.hpp"

#include <CLI/CLI.hpp>

namespace wireproof::cli {

CLI::Option* Timing::add(CLI::App& subcommand) {
    return subcommand.add_flag("--no-timing", untold_,
                               "print no times: the same seed gives the same bytes");
}

std::optional<double> Timing::seconds() const {
    if (untold_) return std::nullopt;
    return std::chrono::duration<double>(Clock::now() - start_).count();
}

}  // namespace wireproof::cli
