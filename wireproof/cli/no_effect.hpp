// The error for an option that has no effect beside the others.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <utility>

#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {

/// A user who types such an option is told so. If the option comes from the configuration, it is
/// left out.
class NoEffect : public CLI::ValidationError {
public:
    NoEffect(std::string option, const std::string& why)
        : CLI::ValidationError(why, exit_usage), option_(std::move(option)) {}
    /// Its first name: "--mtu".
    const std::string& option() const { return option_; }

private:
    std::string option_;
};

}  // namespace wireproof::cli
