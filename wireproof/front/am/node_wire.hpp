// The wire of a node, and questions that some wires answer more cheaply than by receive() or
// next_event().
#pragma once

#include <utility>

#include "wireproof/host/split_wire.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"

namespace wireproof::am {

class NodeWire {
public:
    explicit NodeWire(host::AnyWire wire)
        : any_(std::move(wire)), shm_(shm_in(any_)), only_shm_(any_.as<ShmWire>() != nullptr) {}

    host::AnyWire& any() { return any_; }
    const host::AnyWire& any() const { return any_; }
    /// The shared memory inside; nullptr: none, or all its traffic must go through a wrapper.
    ShmWire* shm() const { return shm_; }
    /// The sender of a frame can change it while this node looks at it.
    bool lends_ring() const { return shm_ != nullptr && shm_->lends_ring(); }
    /// All peers are on shared memory.
    bool is_shm() const { return only_shm_; }
    /// Calls `use` with the ShmWire if all peers are on it. So a turn makes no virtual calls, which
    /// would add a seventh to the time of a single message. Over UDP this gain would be negligible
    /// beside the system calls.
    template <class Use>
    auto with(Use&& use) {
        return only_shm_ ? use(*shm_) : use(any_);
    }

private:
    static ShmWire* shm_in(host::AnyWire& wire) {
        if (auto* const split = wire.as<host::SplitWire>()) return split->near().as<ShmWire>();
        return wire.as<ShmWire>();
    }

    host::AnyWire any_;
    ShmWire* shm_;
    bool only_shm_;
};

template <class W>
bool may_have_event(const W& wire) {
    if constexpr (requires { wire.has_event(); }) return wire.has_event();
    return true;
}

/// True: the frame received last is the only one of this turn.
template <class W>
bool is_alone(const W& wire) {
    if constexpr (requires { wire.is_alone(); }) return wire.is_alone();
    return false;
}

}  // namespace wireproof::am
