// Text as one word for a shell. ssh joins its arguments with spaces, and the shell of the other
// host takes the result apart.
#pragma once

#include <string>
#include <string_view>

namespace wireproof::launch {

/// A word that sh, bash, dash, ksh and zsh read as exactly this text.
std::string shell_word(std::string_view text);

}  // namespace wireproof::launch
