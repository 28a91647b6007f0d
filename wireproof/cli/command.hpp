// The command's parser with all its verbs.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "wireproof/cli/verbs.hpp"

namespace wireproof::cli {

struct Command {
    Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// Reads the words of a command line, without the name of the program. Throws CLI::ParseError.
    /// Then `run` is what the user asked for.
    void parse(const std::vector<std::string>& words);
    /// The chosen verb; null if there is none.
    CLI::App* verb();
    std::vector<std::string> verb_names() const;

    CLI::App app;
    Run run;
};

/// Whether --config, --print-config and environment variables give options to this verb. `verbs`
/// has a file and variables of its own, and `help` has no options.
bool is_configurable(const std::string& verb);

}  // namespace wireproof::cli
