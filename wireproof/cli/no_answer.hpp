// Why a transfer ended: the other side says nothing, or it lives but a packet never gets an answer,
// which the path seems not to carry.
#pragma once

#include <string>

#include "wireproof/core/backoff.hpp"

namespace wireproof::cli {

/// One line. `cause` is what the kernel said, as in PeerTrouble; empty: nothing.
std::string silence(Duration peer_timeout, const std::string& cause);

/// One line. `framing` is the bytes around the frame in a packet of the path, `mtu` the longest
/// packet that was allowed there, bytes. `cause` as above.
std::string no_answer(const Unanswered& frame, Duration peer_timeout, std::size_t framing,
                      std::size_t mtu, const std::string& cause);

}  // namespace wireproof::cli
