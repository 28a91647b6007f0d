// Scenarios as text: small TOML files, of which docs/ladders.md tells every key. Reading the file
// is the caller's business.
#pragma once

#include <string_view>

#include "wireproof/lab/ladder/scenario.hpp"

namespace wireproof::lab {

/// `file` is what complaints call it, and lends its stem to a scenario without a name. What is
/// wrong is one line, "FILE:LINE:COLUMN: what", of the first place where anything is.
Expected<Scenario> read_scenario(std::string_view text, std::string_view file);

}  // namespace wireproof::lab
