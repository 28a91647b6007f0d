// Why a transfer ended: the other side says nothing, or it lives but a packet never gets an answer,
// which the path seems not to carry.
#pragma once

#include <string>

#include "wireproof/am.hpp"
#include "wireproof/core/backoff.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::cli {

/// Bytes of the headers of IP and UDP around a frame.
inline constexpr std::size_t ipv4_framing = 28;
inline constexpr std::size_t ipv6_framing = 48;

/// One line. `cause` is what the kernel said, as in PeerTrouble; empty: nothing.
std::string silence(Duration peer_timeout, const std::string& cause);

/// One line. `framing` is the bytes around the frame in a packet of the path, `mtu` the longest
/// packet that was allowed there, bytes. `cause` as above.
std::string no_answer(const Unanswered& frame, Duration peer_timeout, std::size_t framing,
                      std::size_t mtu, const std::string& cause);

/// One line about a peer that SP AM lost. `framing` as above.
std::string describe_loss(const am::PeerLost& lost, const am::Config& config, std::size_t framing);

}  // namespace wireproof::cli
