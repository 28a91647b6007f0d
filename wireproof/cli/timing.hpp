// The run time of a subcommand. All other output depends only on the arguments, including the seed.
// With
// --no-timing a subcommand prints nothing else.
#pragma once

#include <chrono>
#include <optional>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wireproof::cli {

class Timing {
public:
    /// Adds --no-timing to the subcommand. This object must outlive the subcommand.
    CLI::Option* add(CLI::App& subcommand);
    /// The time starts now.
    void start() { start_ = Clock::now(); }
    /// The time since start(), in seconds. The result is empty with --no-timing.
    std::optional<double> seconds() const;

private:
    using Clock = std::chrono::steady_clock;

    bool untold_ = false;
    Clock::time_point start_ = Clock::now();
};

}  // namespace wireproof::cli
