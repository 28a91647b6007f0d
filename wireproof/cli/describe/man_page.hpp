// Manual pages in mdoc(7).
#pragma once

#include <string>

#include "wireproof/cli/option_text.hpp"

namespace wireproof::cli {

/// wireproof.1. `date`: "May 1, 2026".
std::string man_page(const CommandText& command, const std::string& date);

/// wireproof-VERB.1. Throws std::runtime_error if the footer of the subcommand lacks a part.
std::string man_page(const SubcommandText& subcommand, const std::string& date);

}  // namespace wireproof::cli
