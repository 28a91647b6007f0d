// What --print-config prints: lines of TOML.
#pragma once

#include <string>

#include "wireproof/cli/option_text.hpp"

namespace wireproof::cli {

/// Comments that say what the lines below mean.
std::string toml_head(const std::string& subcommand);

/// `mtu = 1500  # note`. Throws CLI::ParseError if TOML cannot hold the text.
std::string toml_line(const OptionText& option, const std::string& text, const std::string& note);

/// The same as a comment, for a value that --config does not need.
std::string toml_comment(const OptionText& option, const std::string& text,
                         const std::string& note);

/// `# mtu is not set`
std::string toml_unset(const OptionText& option);

}  // namespace wireproof::cli
