// The numbers of the pcapng format that both its reader and its writer need.
#pragma once

#include <cstdint>

namespace wireproof::pcapng {

inline constexpr std::uint32_t section_header = 0x0A0D0D0A;  // the same in both byte orders
inline constexpr std::uint32_t byte_order_magic = 0x1A2B3C4D;
inline constexpr std::uint32_t interface_description = 1;
inline constexpr std::uint32_t enhanced_packet = 6;

inline constexpr std::uint16_t option_comment = 1;      // of a packet
inline constexpr std::uint16_t option_application = 4;  // of a section

}  // namespace wireproof::pcapng
