// The command's parser with all its subcommands.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {

struct Command {
    Command();
    Command(const Command&) = delete;
    Command& operator=(const Command&) = delete;

    /// Reads the words of a command line, without the name of the program. Throws CLI::ParseError.
    /// Then `run` is what the user asked for.
    void parse(const std::vector<std::string>& words);
    /// The chosen subcommand; null if there is none.
    CLI::App* subcommand();
    std::vector<std::string> subcommand_names() const;

    CLI::App app;
    Run run;
};

/// Whether --config, --print-config and environment variables give options to this subcommand.
/// `verbs` has a file and variables of its own, and `help` has no options.
bool is_configurable(const std::string& subcommand);

}  // namespace wireproof::cli
