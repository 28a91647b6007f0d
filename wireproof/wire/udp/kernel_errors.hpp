// Keeps the errors that the kernel returned when the wire sent frames to a peer or received frames.
// The protocols recover from a lost frame and report a silent peer; the error tells the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wireproof/core/peer_trouble.hpp"

namespace wireproof {

/// For each peer, the latest error and the number of frames that the kernel refused. Takes memory
/// at the first error of a peer.
class KernelErrors {
public:
    /// Records that `call` returned `error`, an errno, for `frames` frames to the peer. With 0
    /// frames the error is a report about an earlier frame. `call` must be a literal.
    void note(std::size_t peer, int error, const char* call, std::size_t frames);
    /// A frame from the peer has arrived, so the peer is reachable again. EMSGSIZE is kept: packets
    /// that are too long for the path still do not arrive.
    void heard(std::size_t peer) {
        if (known_ > 0) [[unlikely]]
            forget_unreachable(peer);
    }
    /// Forgets the error, not the number of frames. The caller calls this when the peer gets
    /// another address.
    void forget(std::size_t peer);
    PeerTrouble of(std::size_t peer) const;

private:
    struct Entry {
        int error = 0;  // 0: no error, or it was forgotten
        const char* call = "";
        std::uint64_t frames = 0;
    };

    void forget_unreachable(std::size_t peer);

    std::vector<Entry> entries_;
    std::size_t known_ = 0;  // peers with an error
};

}  // namespace wireproof
