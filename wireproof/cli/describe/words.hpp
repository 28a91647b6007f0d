// What the completions of all shells have in common.
#pragma once

#include <string>
#include <vector>

#include "wireproof/cli/option_text.hpp"

namespace wireproof::cli {

/// The words with spaces between them.
std::string in_one_line(const std::vector<std::string>& words);

/// The text on one line: line breaks become spaces.
std::string on_one_line(std::string text);

/// The text as a shell reads it between single quotes, with the quotes.
std::string shell_quoted(const std::string& text);

/// All names of an option, "--no-damage" included.
std::vector<std::string> all_names(const OptionText& option);

/// The operand of a subcommand; null if it has none. No subcommand has two.
const OptionText* operand_of(const SubcommandText& subcommand);

}  // namespace wireproof::cli
