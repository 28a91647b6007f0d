// What Peers knows of one peer. Only peers*.cpp include this.
#pragma once

#include <memory>
#include <optional>

#include "wireproof/front/verbs/peers/peers.hpp"

namespace wireproof::verbs {

/// Where the device with this address listens to callers.
inline MeetingPlace place_of(const Address& address) {
    return {"verbs-" + address.host_text(), 0};
}

inline constexpr std::size_t callers_max = 64;

/// A peer that is a process of this host, or that was asked whether it is one.
struct Peers::Link {
    enum class State : std::uint8_t { none, calling, living };

    PeerId peer{};
    State state = State::none;
    ControlSocket life;
    std::uint64_t their_life = 0;
    ControlSocket own_end;            // of the pair that we offered, until it is taken
    std::unique_ptr<ShmWire> memory;  // a wire of two nodes
    PeerId other{};                   // the number of the peer on that wire
    bool begun = false;               // the memory has been connected
    bool drains = false;              // first receive what it sent by UDP before
    std::optional<Instant> held_until;
    std::optional<Instant> pinged;
    bool answered = false;  // the peer has answered the last ping
    bool ended = false;     // and nobody was told
    /// Another process at the address. It is welcome once all that the former one left is received.
    struct Successor {
        ControlSocket socket;
        PeerMessage hello;
        Descriptor offered;
    };
    std::optional<Successor> successor;
    Link* next = nullptr;
};

}  // namespace wireproof::verbs
