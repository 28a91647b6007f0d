// Calls that some wires have and that the concept Wire does not require. A wire around another one
// derives from AroundWire, so that each of them reaches the wire inside: a new call is added here
// alone. The answers of a wire that does not have a call are here, too.
#pragma once

#include <concepts>

#include "wireproof/core/peer_trouble.hpp"
#include "wireproof/core/wire.hpp"

namespace wireproof {

/// A wire on which a caller can sleep.
template <class W>
concept SleepWire = requires(W wire, const W& idle) {
    // A descriptor that is readable when frames come; -1: there is none.
    { idle.wait_handle() } -> std::same_as<int>;
    // False: something has arrived meanwhile, and the caller must not sleep.
    { wire.prepare_to_sleep() } -> std::same_as<bool>;
};

/// A wire with open places in its table of peers.
template <class W>
concept OpenWire = requires(W wire, PeerId peer) {
    { wire.settle(peer) } -> std::same_as<void>;    // the peer keeps its address
    { wire.unsettle(peer) } -> std::same_as<void>;  // any new source may take its place again
};

/// A wire that shares something with the parent process in a forked child.
template <class W>
concept ForkWire = requires(W wire) {
    { wire.abandon() } -> std::same_as<void>;  // releases it
};

/// A wire that knows why a peer cannot be reached.
template <class W>
concept TroubleWire = requires(const W& idle, PeerId peer) {
    { idle.trouble(peer) } -> std::same_as<PeerTrouble>;
};

/// False: the wire has one of these calls, but with other types or without the one that belongs to
/// it. A wire around it would drop the call in silence.
template <class W>
inline constexpr bool has_whole_calls =
    (SleepWire<W> || !(
                         requires { &W::wait_handle; } || requires { &W::prepare_to_sleep; })) &&
    (OpenWire<W> || !(
                        requires { &W::settle; } || requires { &W::unsettle; })) &&
    (ForkWire<W> || !requires { &W::abandon; }) && (TroubleWire<W> || !requires { &W::trouble; });

/// `Self` derives from this and has inner(), the W inside. It may have a call of its own in place
/// of one of these.
template <class Self, class W>
class AroundWire {
public:
    int wait_handle() const {
        if constexpr (SleepWire<W>) return inside().wait_handle();
        return -1;
    }
    bool prepare_to_sleep() {
        if constexpr (SleepWire<W>) return inside().prepare_to_sleep();
        return true;
    }
    void settle(PeerId peer) {
        if constexpr (OpenWire<W>) inside().settle(peer);
    }
    void unsettle(PeerId peer) {
        if constexpr (OpenWire<W>) inside().unsettle(peer);
    }
    void abandon() {
        if constexpr (ForkWire<W>) inside().abandon();
    }
    PeerTrouble trouble(PeerId peer) const {
        if constexpr (TroubleWire<W>) return inside().trouble(peer);
        return {};
    }

protected:
    AroundWire() { static_assert(has_whole_calls<W>); }

private:
    W& inside() { return static_cast<Self*>(this)->inner(); }
    const W& inside() const { return static_cast<const Self*>(this)->inner(); }
};

}  // namespace wireproof
