// Reads scenarios from text: small TOML files. docs/guide/links/ladders.md explains every key. The
// caller reads the file.
#pragma once

#include <string_view>

#include "wireproof/lab/ladder/scenario.hpp"

namespace wireproof::lab {

/// `file` is the name in error messages; its stem is the name of a scenario that has none. An error
/// is one line, "FILE:LINE:COLUMN: what", about the first wrong place.
Expected<Scenario> read_scenario(std::string_view text, std::string_view file);

}  // namespace wireproof::lab
