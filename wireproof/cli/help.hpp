// The text of --help.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

namespace wireproof::cli {

/// Lays out help in 80 columns: options on the left, what they do in the 50 columns on the right.
class HelpText : public CLI::Formatter {
public:
    HelpText();
    std::string make_option(const CLI::Option* option, bool is_operand) const override;
};

}  // namespace wireproof::cli
