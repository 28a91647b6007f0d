// The peers of the device, each one address. Packets go by UDP, or through shared memory where the
// peer is a process of this host and of this user. That is proved, never read from an address: each
// device listens at an abstract unix socket that is named after its address, which is the network
// namespace's own, and both ends look at whose process the other is.
//
// The socket stays open: its end is the end of the process, and a peer that does not answer in it
// while it is open is stopped, or waits for a processor.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/front/verbs/peer_message.hpp"
#include "wireproof/proto/ib/neighbours.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::verbs {

/// The way to a peer, by the wire that it is reached by now.
class PeerLane {
public:
    PeerLane(Rocev2Lane& udp, ShmLane* shared) : udp_(&udp), shared_(shared) {}

    TxFrame* claim() { return shared_ != nullptr ? shared_->claim() : udp_->claim(); }
    void commit() { shared_ != nullptr ? shared_->commit() : udp_->commit(); }
    bool is_shared() const { return shared_ != nullptr; }
    const Address& address() const { return udp_->address(); }

private:
    Rocev2Lane* udp_;
    ShmLane* shared_;  // null: it is reached by UDP
};

/// One thread at a time may call. Nothing here blocks.
class Peers {
public:
    /// Without `shared_memory` processes of the host are still known to live or not. Throws
    /// std::system_error where descriptors are lacking.
    Peers(Rocev2Wire udp, bool shared_memory);
    Peers(const Peers&) = delete;
    Peers& operator=(const Peers&) = delete;
    ~Peers();

    Rocev2Wire& udp() { return udp_; }
    const Rocev2Wire& udp() const { return udp_; }
    /// The peer at that address, which it becomes now if there are fewer than `most`.
    std::optional<PeerId> find(const Address& address, std::size_t most);
    /// Somebody is going to send to it: looks whether it is a process of this host.
    void call(PeerId peer);

    /// It is not settled yet which way the peer is reached, so that the packets of connections wait
    /// a moment: none that goes one way may be overtaken by one that goes the other.
    bool holds(Instant now, PeerId peer);
    PeerLane lane(PeerId peer);
    std::optional<RxFrame> receive(Instant now);
    void flush(Instant now);

    /// A timeout is due. One of a peer that is there and does not answer is none of its faults.
    void judge(Instant now, proto::ib::Neighbours& neighbours);
    Instant next_deadline() const { return earliest(held_until_, listen_again_); }

    /// Readable when a packet or a message came.
    int wait_handle() const { return watch_.handle(); }
    /// False: something came meanwhile. Cheap, and of effect until the next receive.
    bool prepare_to_sleep();
    /// The caller slept on wait_handle() and is awake: the next receive looks at what is readable.
    void woke() { look_at_ = Instant(); }
    /// Whether anything but prepare_to_sleep makes peers wake us.
    bool needs_preparing() const { return sharing_ > 0; }
    /// Since it was asked last a process of this host has become a peer. It expects answers.
    bool met_anyone() { return std::exchange(met_, false); }

    /// Of all peers that are or were reached through memory.
    ShmCounters shared_counters() const;

    /// In a forked child: what is open is the parent's.
    void abandon();

private:
    struct Link;
    enum class Tag : std::uint8_t { udp = 1, memory, listener, caller, life };

    void watch(int handle, Tag tag, std::uint64_t which = 0);
    void unwatch(int handle);
    Link& link_of(PeerId peer);
    Link* known_link(PeerId peer) const;
    bool is_shared(const Link& link) const;
    bool is_unsettled(const Link& link) const;

    void look(Instant now);
    void accept_callers(Instant now);
    void hear_caller(int handle);
    void welcome(ControlSocket caller, const PeerMessage& hello, Descriptor offered);
    void hear(Link& link);
    bool hear_message(Link& link, const PeerMessage& message);
    void share(Link& link, ControlSocket socket, std::size_t node);
    void unshare(Link& link);
    void end(Link& link);
    bool note_begun(Link& link);
    bool drains() const;
    std::optional<RxFrame> receive_udp(Instant now);
    std::optional<RxFrame> receive_shared(Instant now);
    bool send(const ControlSocket& to, PeerMessage::Kind kind, bool memory = false,
              int descriptor = -1) const;

    Rocev2Wire udp_;
    bool shared_memory_;
    std::uint64_t life_;
    Descriptor watch_;  // epoll
    Listener listener_;
    std::vector<ControlSocket> callers_;  // that have not said hello yet
    std::vector<Link*> links_;            // by peer; null: it has none
    Link* first_ =
        nullptr;            // of all; a list that only grows, so that a forked child finds it whole
    Link* turn_ = nullptr;  // whose ring is looked at next
    std::vector<std::byte> frame_;  // that was received last, where its sender cannot reach it
    std::size_t sharing_ = 0;       // links with memory
    std::size_t udp_left_ = 0;      // datagrams, before the rings' turn
    Instant udp_at_;                // when the socket is looked at again
    Instant look_at_;
    Instant held_until_ = never;
    Instant listen_again_ = never;
    bool met_ = false;
    ShmCounters former_;
};

}  // namespace wireproof::verbs
