// Text for a person. Some of it came from elsewhere, such as a file's name, and is made fit first.
#pragma once

#include <cstddef>
#include <string>

#include "wireproof/base/bytes.hpp"

namespace wireproof::cli {

/// One line that cannot command a terminal: control characters become question marks.
std::string one_line(std::string text);

/// The end of `text` in at most `width` characters, for the end of a path says more than its
/// beginning.
std::string shortened(const std::string& text, std::size_t width);

/// Text that a peer sent: at most 400 characters, all of them printable, without spaces at the end.
std::string printable(ConstBytes bytes);

/// A line on standard error. Where that is closed, there is nobody to tell and nothing to do.
void tell(const std::string& line);

}  // namespace wireproof::cli
