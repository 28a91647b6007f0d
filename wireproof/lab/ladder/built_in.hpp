// The scenarios in the program: the text of the files in lab/ladder/scenarios. They include the
// worked scenarios of docs/rules (PCIE-24, HIPPI-19).
#pragma once

#include <span>
#include <string_view>

namespace wireproof::lab {

struct BuiltIn {
    std::string_view name;  // of the file, without its extension
    std::string_view text;
};

/// Ordered by name.
std::span<const BuiltIn> built_in_scenarios();

/// nullptr if no scenario has this name.
const BuiltIn* find_built_in(std::string_view name);

}  // namespace wireproof::lab
