// The scenarios that come with the command: the files of lab/ladder/scenarios, as text in the
// program. The worked scenarios of docs/rules are among them (PCIE-24, HIPPI-19).
#pragma once

#include <span>
#include <string_view>

namespace wireproof::lab {

struct BuiltIn {
    std::string_view name;  // of the file, without its ending
    std::string_view text;
};

/// Ordered by name.
std::span<const BuiltIn> built_in_scenarios();

/// nullptr: there is none of that name.
const BuiltIn* find_built_in(std::string_view name);

}  // namespace wireproof::lab
