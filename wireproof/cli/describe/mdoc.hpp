// Text as the source of a manual page in mdoc(7).
#pragma once

#include <string>
#include <string_view>

namespace wireproof::cli {

/// The characters that roff would change or obey, as escapes.
std::string mdoc_escaped(std::string_view text);

/// Lines of text that mdoc fills: at most 80 bytes, and each sentence on a line of its own.
std::string mdoc_text(std::string_view text);

/// A line that is shown as it is.
std::string mdoc_literal(std::string_view line);

/// The text as a sentence: with a capital, unless it begins with a name, and a full stop.
std::string mdoc_sentence(const std::string& text);

}  // namespace wireproof::cli
