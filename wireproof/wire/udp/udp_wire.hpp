// Frames as UDP datagrams, to many peers over one nonblocking socket. A frame that the kernel does
// not take at the flush is dropped and counted. receive() may return nothing although frames wait
// here or in the kernel, so a caller that wants to sleep calls prepare_to_sleep() first.
//
// A wire may listen at each address of this host (0.0.0.0, [::]). Frames to a peer then leave from
// the address at which its latest frame arrived: the peer knows this node by that address.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wireproof/core/wire.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/wire/udp/counters.hpp"
#include "wireproof/wire/udp/receive_batch.hpp"
#include "wireproof/wire/udp/send_batch.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

/// The lane to one peer. All lanes share the wire's batch: if it is full, no lane lends room until
/// the next flush. A lane without an address lends no room.
class UdpLane {
public:
    LaneCapabilities capabilities() const { return batch_->capabilities(number_); }
    TxFrame* claim() { return address_.is_set() ? batch_->claim(number_) : nullptr; }
    void commit() { batch_->commit(number_, route_); }
    FrameRun claim_run(std::size_t size, std::size_t most) {
        return address_.is_set() ? batch_->claim_run(size, most) : FrameRun();
    }
    void commit_run(const FrameRun& run) { batch_->commit_run(run, number_, route_); }

    /// The destination of frames. For an open place, the latest source.
    const Address& address() const { return address_; }
    /// The address of this host at which the peer's latest frame arrived: frames leave from it.
    /// Unset: the wire does not listen at each address of the host, or has heard nothing.
    const Address& asked_at() const { return route_.from; }

private:
    friend class UdpWire;

    enum class Place : std::uint8_t { vacant, fixed, open, settled };

    UdpLane(SendBatch* batch, std::size_t number) : batch_(batch), number_(number) {}

    SendBatch* batch_;
    std::size_t number_;
    Address address_;
    Route route_{};
    std::uint8_t refusals_ = 0;  // of its port, since its last frame
    Place place_ = Place::vacant;
};

class UdpWire {
public:
    struct Config {
        Address local = {};               // port 0: the kernel chooses
        std::vector<Address> peers = {};  // by PeerId; an address may be unset
        /// True: a peer with an unset address is an open place. False: nothing goes to that peer or
        /// comes from it until set_peer.
        bool unset_is_open = true;
        std::size_t frame_max = 1472;
        int receive_buffer = 4 << 20;  // bytes wanted; the kernel may grant less
        int send_buffer = 4 << 20;
        std::size_t batch = 132;  // frames per system call
        /// After a full batch the next one is twice as long, up to this many frames and up to half
        /// of the kernel's send buffer.
        std::size_t batch_most = 440;
        /// Send and receive frames as segments of super-packets, if the kernel can.
        bool segments = true;
        /// If set, the only peer. When its address is set, the wire connects the socket to it, so
        /// that the kernel need not look up the route for each packet. A connected socket hears
        /// only what comes to one address of this host. So if a peer may ask at any address of a
        /// wire that listens at all, leave it unset.
        std::optional<PeerId> only_peer = {};
        /// If the kernel refuses it, no frame is marked.
        Ecn ecn = Ecn::off;
        /// True: a settled place goes to another source if the program that it belonged to has
        /// ended: the host of that program has refused frames, since it has no such port any more,
        /// and nothing has come from there since.
        bool succeeds_ended = false;
    };

    static constexpr std::size_t frame_limit = 65507;  // of a datagram over IPv4, bytes

    static Expected<UdpWire> open(const Config& config);

    /// Sets the address of a peer. An unset address makes it an open place. If an open place
    /// already has this address, that place loses it. If another peer was given this address, the
    /// call returns an error.
    Expected<void> set_peer(PeerId peer, const Address& address);

    /// An open place accepts frames from any source that is no other peer's address, and sends to
    /// the latest source. Several open places fill in the order of their numbers. After settle(), a
    /// place keeps its address until unsettle(). Neither call changes a peer whose address was
    /// given.
    void settle(PeerId peer);
    void unsettle(PeerId peer);

    Address local_address() const { return socket_.local_address(); }
    std::size_t receive_buffer() const { return socket_.receive_buffer(); }
    const UdpCounters& counters() const { return counters_; }
    std::size_t peers() const { return lanes_.size(); }
    UdpLane& lane(PeerId peer);
    std::optional<RxFrame> receive(Instant now);
    /// The frames that follow the last one in its super-packet.
    RxRun following() const { return sender_ ? receiving_.following() : RxRun(); }
    void take_following(std::size_t frames);
    void flush(Instant) { sending_->flush(socket_.handle(), counters_, errors_); }
    /// The kernel's errors for this peer: see KernelErrors.
    PeerTrouble trouble(PeerId peer) const { return errors_.of(static_cast<std::size_t>(peer)); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }
    Instant next_deadline() const { return never; }

    /// For a forked child: closes its copy of the parent's socket, so that no frame goes to the
    /// child and the port is free when the parent has ended. The child must not send or receive
    /// here.
    void abandon() { socket_.abandon(); }

    /// Readable when the kernel has frames.
    int wait_handle() const { return socket_.handle(); }
    /// False: frames wait here, where the handle does not show them, so the caller must not sleep.
    bool prepare_to_sleep() const { return !receiving_.has_frame(); }

private:
    UdpWire(UdpSocket socket, const Config& config);

    std::optional<PeerId> peer_of(const Address& source);
    std::optional<PeerId> place_for(const Address& source);
    void give(std::size_t peer, const Address& address);
    Expected<void> talk_only_to(UdpLane& lane);
    void note_receive_error();
    void note_sender(const ReceiveBatch::Frame& frame);
    void take_reports();
    bool opens_ended_place();

    UdpSocket socket_;
    Address::Family family_;
    bool at_any_;                         // listens at each address of this host
    std::unique_ptr<SendBatch> sending_;  // lanes point at it
    ReceiveBatch receiving_;
    std::size_t batch_;
    std::optional<PeerId> only_peer_;
    std::deque<UdpLane> lanes_;  // a deque: a new peer does not move the others
    std::unordered_map<Address, std::size_t, AddressHash> numbers_;
    std::size_t latest_ = 0;          // the peer of the last frame
    std::uint32_t told_dropped_ = 0;  // kernel drops at the last frame, modulo 2^32
    std::optional<PeerId> sender_;    // of the datagram whose frames are returned
    std::size_t open_places_ = 0;     // in the state open
    UdpCounters counters_;
    KernelErrors errors_;
    bool succeeds_ended_;
    std::uint64_t troubles_seen_ = 0;  // with sent frames, when the reports were last taken
};

static_assert(RunLane<UdpLane>);
static_assert(RunWire<UdpWire>);

}  // namespace wireproof
