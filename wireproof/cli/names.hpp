// Lists of names in the help of a subcommand.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace wireproof::cli {

/// "pcie, hippi6400 or sp-am"
std::string either_of(const std::vector<std::string>& names);

/// The text in lines of at most `columns` columns. The last line has no line break.
std::string wrapped(std::string_view text, std::size_t columns);

}  // namespace wireproof::cli
