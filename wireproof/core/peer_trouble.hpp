// The reason why a peer cannot be reached, as the kernel reports it to the wire. The protocol sees
// only that the peer is silent. The user also wants this reason.
#pragma once

#include <cstdint>
#include <string>

namespace wireproof {

struct PeerTrouble {
    /// The latest error since the last frame of the peer arrived, and the call that returned it:
    /// "Network is unreachable (sendmsg)". Empty: no error. "Message too long (sendmsg)" stays even
    /// if shorter frames arrive. On shared memory: why this node and the peer have not met.
    std::string cause = {};
    std::uint64_t frames_refused = 0;  // of the frames to the peer, since the wire was opened
};

}  // namespace wireproof
