// The numbers of rdma_cm's events. The kernel's header does not have them; librdmacm's header does.
#pragma once

#include <cstdint>

namespace wireproof::verbs::cm_event {

inline constexpr std::uint32_t address_resolved = 0;
inline constexpr std::uint32_t address_error = 1;
inline constexpr std::uint32_t route_resolved = 2;
inline constexpr std::uint32_t connect_request = 4;
inline constexpr std::uint32_t connect_response = 5;
inline constexpr std::uint32_t unreachable = 7;
inline constexpr std::uint32_t rejected = 8;
inline constexpr std::uint32_t established = 9;
inline constexpr std::uint32_t disconnected = 10;

}  // namespace wireproof::verbs::cm_event
