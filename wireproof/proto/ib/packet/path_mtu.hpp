// The possible path MTUs, and the number of packets of a message.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace wireproof::proto::ib {

/// Bytes of payload. Every path carries the smallest.
inline constexpr std::array<std::size_t, 5> path_mtus = {256, 512, 1024, 2048, 4096};
inline constexpr std::uint64_t message_max = std::uint64_t{1} << 31;  // bytes

constexpr bool is_path_mtu(std::size_t bytes) {
    return std::find(path_mtus.begin(), path_mtus.end(), bytes) != path_mtus.end();
}

/// A message of no bytes takes one packet, too (UC-5).
constexpr std::uint64_t packets_of(std::uint64_t message, std::size_t path_mtu) {
    return std::max<std::uint64_t>(1, (message + path_mtu - 1) / path_mtu);
}

}  // namespace wireproof::proto::ib
