// The name that was meant by a misspelt one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wireproof::cli {

/// The one of `names` that is most like `word`, the first of several. Empty if none is near: more
/// than a third of the letters of `word` would have to change.
std::string nearest(std::string_view word, const std::vector<std::string>& names);

/// "; did you mean NAME?", or nothing.
std::string did_you_mean(std::string_view word, const std::vector<std::string>& names);

}  // namespace wireproof::cli
