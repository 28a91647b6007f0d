// A part of the library that takes part in the turns of a node, besides the handlers of the
// program.
#pragma once

#include <cstddef>
#include <cstdint>

namespace wireproof::am {

class Companion {
public:
    Companion() = default;
    Companion(const Companion&) = delete;
    Companion& operator=(const Companion&) = delete;
    virtual ~Companion() = default;

    /// The received frames and the timers were handled, and frames leave next. The companion may
    /// post requests. Turns in which nothing happens do not make this call.
    virtual void on_turn() = 0;
    /// The session with the peer has ended. on_turn() follows.
    virtual void on_lost(std::size_t peer) = 0;
    /// The peer has no such handler for a request or store of this node. on_turn() follows.
    virtual void on_refused(std::size_t peer, std::uint16_t handler) = 0;
    /// The node does not exist any more.
    virtual void on_end() = 0;
};

}  // namespace wireproof::am
