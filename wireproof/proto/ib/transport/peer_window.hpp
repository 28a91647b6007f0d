// The initial limit of packets in flight with a peer over UDP, before anything is known about the
// peer's host.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/proto/ib/transport/peer_windows.hpp"

namespace wireproof::proto::ib {

/// The window begins with most of the packets that fit into the default receive buffer of Linux.
/// This buffer has 212,992 bytes, for 25 packets of 4096 bytes, 48 of 2048, or 92 of 1024. The rest
/// is for acknowledgements and for packets of other peers.
constexpr PeerWindows::Config peer_window_of(std::size_t path_mtu) {
    const std::uint32_t start = path_mtu > 2048 ? 20 : path_mtu > 1024 ? 40 : 72;
    return {.start = start, .least = 8, .most = 256};
}

}  // namespace wireproof::proto::ib
