// What the kernel answered instead of sending a frame to a peer, or instead of handing one over.
// The protocols recover from a lost frame and report a silent peer; this keeps the reason.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "wireproof/core/peer_trouble.hpp"

namespace wireproof {

/// By peer, the latest error and how many frames the kernel refused. Memory is taken at a peer's
/// first error.
class KernelErrors {
public:
    /// The call returned `error`, an errno, for so many frames to the peer; 0 frames: it is a
    /// report about an earlier one. `call` is a literal.
    void note(std::size_t peer, int error, const char* call, std::size_t frames);
    /// A frame of the peer came, so it can be reached again. That does not help packets that were
    /// too long for the path: EMSGSIZE is kept.
    void heard(std::size_t peer) {
        if (known_ > 0) [[unlikely]]
            forget_unreachable(peer);
    }
    /// The peer has another address.
    void forget(std::size_t peer);
    PeerTrouble of(std::size_t peer) const;

private:
    struct Entry {
        int error = 0;  // 0: none that still matters
        const char* call = "";
        std::uint64_t frames = 0;
    };

    void forget_unreachable(std::size_t peer);

    std::vector<Entry> entries_;
    std::size_t known_ = 0;  // peers with an error
};

}  // namespace wireproof
