// Why a transfer ended: the peer is silent, or the peer answers but one packet never gets an
// answer, so the path probably does not carry it.
#pragma once

#include <string>

#include "wireproof/am.hpp"
#include "wireproof/core/backoff.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::app {

/// Bytes of the headers of IP and UDP around a frame.
inline constexpr std::size_t ipv4_framing = 28;
inline constexpr std::size_t ipv6_framing = 48;

/// One line. `cause` is the message of the kernel, as in PeerTrouble; empty: none.
std::string silence(Duration peer_timeout, const std::string& cause);

/// One line. `framing` is the number of bytes around the frame in a packet of the path. `mtu` is
/// the longest packet allowed there, in bytes. `cause` as above.
std::string no_answer(const Unanswered& frame, Duration peer_timeout, std::size_t framing,
                      std::size_t mtu, const std::string& cause);

/// One line about a peer that SP AM lost. `framing` as above.
std::string describe_loss(const am::PeerLost& lost, const am::Config& config, std::size_t framing);

}  // namespace wireproof::app
