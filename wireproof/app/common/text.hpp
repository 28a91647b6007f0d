// Text for a reader. Text from outside, such as the name of a file, is made safe first.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "wireproof/base/bytes.hpp"

namespace wireproof::app {

/// One line that cannot control a terminal: control characters become question marks.
std::string one_line(std::string text);

/// The end of `text` in at most `width` characters. The end of a path says more than its start.
std::string shortened(const std::string& text, std::size_t width);

/// "1234567" as "1 234 567".
std::string grouped(std::string digits, std::string_view between = " ");

/// 0.123 as "12.3"; without a value `none`.
std::string percent(std::optional<double> value, int decimals, std::string_view none);

/// Text that a peer sent: at most 400 characters, all printable, without spaces at the end.
std::string printable(ConstBytes bytes);

/// Writes a line to standard error. If that is closed, does nothing.
void tell(const std::string& line);

}  // namespace wireproof::app
