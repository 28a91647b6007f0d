#pragma once

#include <cstdint>

namespace wireproof::verbs {

inline constexpr const char* device_name = "wireproof0";

/// Of the adapter that this host's processes share; in network order. EUI-64, locally administered.
std::uint64_t device_guid();

}  // namespace wireproof::verbs
