// The peers of the device; each has one address. Packets go by UDP. They go through shared memory
// if the peer is a process of this host and of this user. An address does not prove that. Each
// device listens at an abstract unix socket with the name of its address, in its network namespace,
// and both ends check the user of the other process.
//
// The unix socket stays open. If its other end closes, the process of the peer has ended. If it is
// open and the peer does not answer in it, the process is stopped or waits for a processor.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "wireproof/core/peer_set.hpp"
#include "wireproof/front/verbs/peers/peer_message.hpp"
#include "wireproof/proto/ib/transport/neighbours.hpp"
#include "wireproof/wire/shm/shm_wire.hpp"
#include "wireproof/wire/udp/rocev2_wire.hpp"

namespace wireproof::verbs {

/// The lane to a peer on the wire that is in use now.
class PeerLane {
public:
    PeerLane(Rocev2Lane& udp, ShmLane* shared) : udp_(&udp), shared_(shared) {}

    TxFrame* claim() { return shared_ != nullptr ? shared_->claim() : udp_->claim(); }
    void commit() { shared_ != nullptr ? shared_->commit() : udp_->commit(); }
    bool is_shared() const { return shared_ != nullptr; }
    const Address& address() const { return udp_->address(); }

private:
    Rocev2Lane* udp_;
    ShmLane* shared_;  // null: the peer is reached by UDP
};

/// Only one thread at a time may call. No call blocks.
class Peers {
public:
    /// If `shared_memory` is false, no memory is shared, but the device still learns whether a
    /// process of this host lives. Throws std::system_error if the process cannot have enough
    /// descriptors.
    Peers(Rocev2Wire udp, bool shared_memory);
    Peers(const Peers&) = delete;
    Peers& operator=(const Peers&) = delete;
    ~Peers();

    Rocev2Wire& udp() { return udp_; }
    const Rocev2Wire& udp() const { return udp_; }
    /// The peer at that address, which the program names. It becomes a peer now if it is none.
    /// Empty: the program has named `most` other peers, or no peer can have this address.
    std::optional<PeerId> find(const Address& address, std::size_t most);
    /// Adds the peers that are processes of this host, or that may be. Their numbers stay theirs.
    void add_used_peers(PeerSet& to) const;
    /// Forgets all hosts except these, and returns the numbers of the forgotten ones.
    PeerSet forget_all_but(const PeerSet& kept);
    /// The caller is about to send to the peer. Starts to find out whether the peer is a process of
    /// this host.
    void call(PeerId peer);

    /// True while it is not decided which wire leads to the peer, for at most 100 ms. Packets of
    /// connections must then wait, so that no packet on one wire overtakes one on the other.
    bool holds(Instant now, PeerId peer);
    PeerLane lane(PeerId peer);
    std::optional<RxFrame> receive(Instant now);
    void flush(Instant now);

    /// Call it when a timeout is due. It tells `neighbours` which peers live but do not answer:
    /// their timeouts use up no retry.
    void judge(Instant now, proto::ib::Neighbours& neighbours);
    Instant next_deadline() const { return earliest(held_until_, listen_again_); }

    /// The peer is a process of this host and user, with an open socket to it. Its device
    /// acknowledges messages that do not ask for it, and its end will be known.
    bool has_met(PeerId peer) const;
    /// A peer that this device had met, and whose process has ended or closed its device. Each end
    /// is told once. Packets that the peer sent before may still arrive.
    std::optional<PeerId> next_ended();

    /// The first is readable when a message or a packet through shared memory has arrived, the
    /// second when a packet has arrived by UDP. The socket is not in an epoll set: the kernel would
    /// then work for the set with each packet, even if no thread sleeps.
    std::array<int, 2> wait_handles() const { return {watch_.handle(), udp_.wait_handle()}; }
    /// Returns false if something has arrived in the meantime. It is cheap. Its effect lasts until
    /// the next receive.
    bool prepare_to_sleep();
    /// The caller has slept on wait_handles() and is awake. The next receive looks at all that may
    /// be readable.
    void woke() { look_at_ = udp_at_ = Instant(); }
    /// True if peers wake us only after prepare_to_sleep().
    bool needs_preparing() const { return sharing_ > 0; }
    /// True if a process of this host has become a peer since the last call. That process expects
    /// answers.
    bool met_anyone() { return std::exchange(met_, false); }

    /// The sum over all peers that use or used shared memory.
    ShmCounters shared_counters() const;

    /// For a forked child: the open descriptors belong to the parent.
    void abandon();

private:
    struct Link;
    enum class Tag : std::uint8_t { memory = 1, listener, caller, life };

    [[nodiscard]] bool watch(int handle, Tag tag, std::uint64_t which = 0);
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
    void note_end(Link& link);
    void end(Link& link);
    bool note_begun(Link& link);
    void begin(Link& link);
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
    std::vector<ControlSocket> callers_;  // callers that have not said hello yet
    std::vector<Link*> links_;            // by peer; null: the peer has no link
    Link* first_ = nullptr;    // of all links; only grows, so that it is complete in a forked child
    Link* turn_ = nullptr;     // the link whose ring is looked at next
    std::size_t sharing_ = 0;  // links with memory
    std::size_t udp_left_ = 0;  // datagrams to receive before the rings have their turn
    Instant udp_at_;            // when to look at the socket again
    Instant look_at_;
    Instant held_until_ = never;
    Instant listen_again_ = never;
    bool met_ = false;
    bool any_ended_ = false;
    ShmCounters former_;
};

}  // namespace wireproof::verbs
