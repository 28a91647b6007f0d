// The hosts of a job, as the user names them: "a,b:4" has one place on host a and four on host b.
// Ranks fill the places in this order.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::launch {

inline constexpr std::size_t ranks_max = 1024;

/// The host of each place.
Expected<std::vector<std::string>> parse_hosts(std::string_view text);

}  // namespace wireproof::launch
