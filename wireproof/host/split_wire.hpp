// Two wires as one. Each peer is on one of them: the near one, which costs no system call, or the
// far one. It meets the Wire concept, so pumps and fronts use it like any other wire.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "wireproof/base/expected.hpp"
#include "wireproof/host/any_wire.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::host {

class SplitWire {
public:
    /// While frames come on the near wire, the far one is asked for frames once in this time: a
    /// call in vain costs as much as several messages on the near one.
    static constexpr Duration far_look_every = Duration::microseconds(2);

    /// After this many frames of the far wire, the near one is asked again: a flood of far frames
    /// must not keep a node from its near peers.
    static constexpr std::size_t far_frames_most = 256;

    /// `near_peers` says for each number whether the peer is on the near wire. Both wires number
    /// their peers alike. Failure: the process may have no more descriptors.
    static Expected<SplitWire> make(AnyWire near, AnyWire far, std::vector<bool> near_peers);

    SplitWire(SplitWire&& other) noexcept;
    SplitWire& operator=(SplitWire&&) = delete;

    AnyWire& near() { return near_; }
    bool is_near(PeerId peer) const { return near_peers_[static_cast<std::size_t>(peer)]; }

    AnyLane& lane(PeerId peer) { return wire_to(peer).lane(peer); }
    std::optional<RxFrame> receive(Instant now);
    RxRun following() const { return last_->following(); }
    void take_following(std::size_t frames) { last_->take_following(frames); }
    void flush(Instant now) {
        near_.flush(now);
        far_.flush(now);
    }
    std::optional<std::pair<PeerId, WireEvent>> next_event() {
        if (auto event = near_.next_event()) return event;
        return far_.next_event();
    }
    Instant next_deadline() const { return earliest(near_.next_deadline(), far_.next_deadline()); }

    int wait_handle() const { return both_.handle(); }
    bool prepare_to_sleep() { return near_.prepare_to_sleep() && far_.prepare_to_sleep(); }
    void settle(PeerId peer) { wire_to(peer).settle(peer); }
    void unsettle(PeerId peer) { wire_to(peer).unsettle(peer); }
    PeerTrouble trouble(PeerId peer) const { return wire_to(peer).trouble(peer); }
    void abandon() {
        both_.close();
        near_.abandon();
        far_.abandon();
    }

    // Only near peers reach memory of this node.
    Expected<Bytes> allocate_shared(std::size_t bytes) { return near_.allocate_shared(bytes); }
    bool free_shared(Bytes memory) { return near_.free_shared(memory); }
    bool share(PeerId peer, std::uint64_t address, Bytes memory, bool readable, bool writable) {
        return wire_to(peer).share(peer, address, memory, readable, writable);
    }
    void unshare(PeerId peer, std::uint64_t address) { wire_to(peer).unshare(peer, address); }
    bool unshared(PeerId peer, std::uint64_t address) const {
        return wire_to(peer).unshared(peer, address);
    }
    bool write_memory(PeerId peer, std::uint64_t address, ConstBytes source) {
        return wire_to(peer).write_memory(peer, address, source);
    }
    bool read_memory(PeerId peer, std::uint64_t address, Bytes destination) {
        return wire_to(peer).read_memory(peer, address, destination);
    }

private:
    SplitWire(AnyWire near, AnyWire far, std::vector<bool> near_peers, Descriptor both)
        : near_(std::move(near)),
          far_(std::move(far)),
          near_peers_(std::move(near_peers)),
          both_(std::move(both)) {}

    AnyWire& wire_to(PeerId peer) { return is_near(peer) ? near_ : far_; }
    const AnyWire& wire_to(PeerId peer) const { return is_near(peer) ? near_ : far_; }
    std::optional<RxFrame> receive_far(Instant now);

    AnyWire near_;
    AnyWire far_;
    std::vector<bool> near_peers_;
    Descriptor both_;         // readable when either wire has something
    AnyWire* last_ = &near_;  // of the frame that was received last
    bool asking_far_ = false;
    std::size_t far_gave_ = 0;  // frames, since it was asked first in this turn
    Instant far_look_at_{};
};

static_assert(RunWire<SplitWire> && ReachesMemory<SplitWire>);

}  // namespace wireproof::host
