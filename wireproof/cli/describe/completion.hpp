// Completion for shells: subcommands, options, the words that options accept, and files.
#pragma once

#include <string>

#include "wireproof/cli/option_text.hpp"

namespace wireproof::cli {

std::string bash_completion(const CommandText& command);
std::string zsh_completion(const CommandText& command);
std::string fish_completion(const CommandText& command);

}  // namespace wireproof::cli
