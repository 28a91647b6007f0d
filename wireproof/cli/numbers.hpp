// Numbers on a command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace CLI {
class Option;
}

namespace wireproof::cli {

/// Whether the text has digits only, at least one. from_chars alone would accept a minus sign.
bool all_digits(std::string_view text);

/// A whole number below 2^64 in decimal: "1500", or with an exponent "1e15" or "2.5e3". The result
/// is empty for all other texts, also for a sign or a fraction.
std::optional<std::uint64_t> parse_whole(std::string_view text);

/// Makes an option accept only numbers from `least` to `most`, without a sign; NaN is not accepted.
void accept_range(CLI::Option& option, double least, double most);
void accept_whole(CLI::Option& option, std::uint64_t least, std::uint64_t most);

}  // namespace wireproof::cli
