// What all processes of this host know the device by.
#pragma once

#include <cstdint>

namespace wireproof::verbs {

inline constexpr const char* device_name = "wireproof0";

/// The EUI-64 of the device, in network order, locally administered. All processes of this host
/// have the same.
std::uint64_t device_guid();

}  // namespace wireproof::verbs
