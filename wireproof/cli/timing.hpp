// How long a verb took. All else that it prints is a function of what it was asked, its seed
// included; with --no-timing that is all it prints.
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
    /// Adds --no-timing to the verb, which ends before this does.
    CLI::Option* add(CLI::App& verb);
    /// From now on.
    void start() { start_ = Clock::now(); }
    /// Since then; nothing if it is not to be told.
    std::optional<double> seconds() const;

private:
    using Clock = std::chrono::steady_clock;

    bool untold_ = false;
    Clock::time_point start_ = Clock::now();
};

}  // namespace wireproof::cli
