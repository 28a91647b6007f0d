// Numbers as people write them on a command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace CLI {
class Option;
}

namespace wireproof::cli {

/// A whole number below 2^64, in decimal: "1500", and with an exponent "1e15" or "2.5e3". Nothing
/// for any other text, a sign and a fraction among them.
std::optional<std::uint64_t> parse_whole(std::string_view text);

/// Has an option take numbers of this range only: no NaN, no sign, nothing that does not fit.
void accept_range(CLI::Option& option, double least, double most);
void accept_whole(CLI::Option& option, std::uint64_t least, std::uint64_t most);

}  // namespace wireproof::cli
