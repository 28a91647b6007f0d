// Why a transfer ended though its other side lives: a packet that the path seems not to carry.
#pragma once

#include <string>

#include "wireproof/core/backoff.hpp"

namespace wireproof::cli {

/// One line. `framing` is the bytes around the frame in a packet of the path, `mtu` the longest
/// packet that was allowed there, bytes.
std::string no_answer(const Unanswered& frame, Duration peer_timeout, std::size_t framing,
                      std::size_t mtu);

}  // namespace wireproof::cli
