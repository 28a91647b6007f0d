// Why a peer cannot be reached, as the system told the wire that carries frames to it. A protocol
// above sees only that the peer is silent; this is what a user wants to read.
#pragma once

#include <cstdint>
#include <string>

namespace wireproof {

struct PeerTrouble {
    /// The latest error since a frame of the peer last arrived, and the call that returned it:
    /// "Network is unreachable (sendmsg)". Empty: there was none. "Message too long (sendmsg)"
    /// stays when shorter frames arrive.
    std::string cause = {};
    std::uint64_t frames_refused = 0;  // of all that were to go to it, since the wire was opened
};

}  // namespace wireproof
