// How many packets may be under way with a peer over UDP, before anything is known of its host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/proto/ib/peer_windows.hpp"

namespace wireproof::proto::ib {

/// At first most of what the stock receive buffer of Linux, 212,992 bytes, holds: 25 packets of
/// 4096 bytes, 48 of 2048, or 92 of 1024. Acknowledgements and other peers' packets need room, too.
constexpr PeerWindows::Config peer_window_of(std::size_t path_mtu) {
    const std::uint32_t start = path_mtu > 2048 ? 20 : path_mtu > 1024 ? 40 : 72;
    return {.start = start, .least = 8, .most = 256};
}

}  // namespace wireproof::proto::ib
