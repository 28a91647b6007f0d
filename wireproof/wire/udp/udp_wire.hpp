// Frames as UDP datagrams, to many peers over one nonblocking socket. What the kernel does not take
// at the flush is dropped and counted. Receive may say "nothing" once before it asks the kernel
// again, so who sleeps asks prepare_to_sleep() first.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wireproof/core/wire.hpp"
#include "wireproof/wire/udp/address.hpp"
#include "wireproof/wire/udp/counters.hpp"
#include "wireproof/wire/udp/receive_batch.hpp"
#include "wireproof/wire/udp/send_batch.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

/// The way to one peer. All lanes share the wire's batch: it is full for all of them at once, and
/// only until the next flush. A lane without an address lends no room.
class UdpLane {
public:
    LaneCapabilities capabilities() const { return batch_->capabilities(); }
    TxFrame* claim() { return address_.is_set() ? batch_->claim() : nullptr; }
    void commit() { batch_->commit(number_, to_, connected_); }
    FrameRun claim_run(std::size_t size, std::size_t most) {
        return address_.is_set() ? batch_->claim_run(size, most) : FrameRun();
    }
    void commit_run(const FrameRun& run) { batch_->commit_run(run, number_, to_, connected_); }

    /// Where frames go now; of an open place, the latest source.
    const Address& address() const { return address_; }

private:
    friend class UdpWire;

    enum class Place : std::uint8_t { vacant, fixed, open, settled };

    UdpLane(SendBatch* batch, std::size_t number) : batch_(batch), number_(number) {}

    SendBatch* batch_;
    std::size_t number_;
    Address address_;
    SocketAddress to_{};
    bool connected_ = false;
    Place place_ = Place::vacant;
};

class UdpWire {
public:
    struct Config {
        Address local = {};               // port 0: the kernel chooses
        std::vector<Address> peers = {};  // by PeerId; of some the address may be unset
        /// What an unset address is: an open place, or a peer that nothing goes to and comes from
        /// until set_peer.
        bool unset_is_open = true;
        std::size_t frame_max = 1472;
        int receive_buffer = 4 << 20;  // bytes wanted; the kernel may grant less
        int send_buffer = 4 << 20;
        std::size_t batch = 132;  // frames per system call
        /// Where each batch that leaves is full, the next is twice as long, up to so many frames or
        /// half of the kernel's send buffer.
        std::size_t batch_most = 440;
        /// Frames leave and come as segments of super-packets where the kernel knows how.
        bool segments = true;
        /// The only peer there is, when its address is given: the socket is connected to it, which
        /// spares the kernel a search for the way with every packet.
        std::optional<PeerId> only_peer = {};
    };

    static constexpr std::size_t frame_limit = 65507;  // of a datagram over IPv4, bytes

    static Expected<UdpWire> open(const Config& config);

    /// Gives a peer an address, or with an unset one makes it an open place. An open place that
    /// had this address loses it; a peer that was given it keeps it, and that is an error.
    Expected<void> set_peer(PeerId peer, const Address& address);

    /// An open place takes in frames from any source that is no other peer's, and answers the
    /// latest; several open places fill in the order of their numbers. Settled, it keeps its
    /// address until unsettle. Neither does anything to a peer whose address was given.
    void settle(PeerId peer);
    void unsettle(PeerId peer);

    Address local_address() const { return socket_.local_address(); }
    std::size_t receive_buffer() const { return socket_.receive_buffer(); }
    const UdpCounters& counters() const { return counters_; }
    std::size_t peers() const { return lanes_.size(); }
    UdpLane& lane(PeerId peer);
    std::optional<RxFrame> receive(Instant now);
    /// Of the same super-packet.
    RxRun following() const { return sender_ ? receiving_.following() : RxRun(); }
    void take_following(std::size_t frames);
    void flush(Instant) { sending_->flush(socket_.handle(), counters_, errors_); }
    /// What the kernel said of the peer since it was last heard.
    PeerTrouble trouble(PeerId peer) const { return errors_.of(static_cast<std::size_t>(peer)); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }
    Instant next_deadline() const { return never; }

    /// In a forked child: gives up the parent's socket, so that no frame goes to the child and the
    /// port is free when the parent is gone. Nothing is sent or received here any more.
    void abandon() { socket_.abandon(); }

    /// Readable when frames came.
    int wait_handle() const { return socket_.handle(); }
    /// False: frames wait here, where the handle does not show them.
    bool prepare_to_sleep() const { return !receiving_.has_frame(); }

private:
    UdpWire(UdpSocket socket, const Config& config);

    std::optional<PeerId> peer_of(const Address& source);
    std::optional<PeerId> place_for(const Address& source);
    void give(std::size_t peer, const Address& address);
    Expected<void> talk_only_to(UdpLane& lane);
    void note_receive_error();

    UdpSocket socket_;
    Address::Family family_;
    std::unique_ptr<SendBatch> sending_;  // lanes point at it
    ReceiveBatch receiving_;
    std::size_t batch_;
    std::optional<PeerId> only_peer_;
    std::deque<UdpLane> lanes_;  // a deque, so that a new peer leaves the others where they are
    std::unordered_map<Address, std::size_t, AddressHash> numbers_;
    std::size_t latest_ = 0;          // whose frame came last
    std::uint32_t told_dropped_ = 0;  // of the kernel's count, modulo 2^32
    std::optional<PeerId> sender_;    // of the datagram that is handed out frame by frame
    std::size_t open_places_ = 0;     // not settled
    UdpCounters counters_;
    KernelErrors errors_;
};

static_assert(RunLane<UdpLane>);
static_assert(RunWire<UdpWire>);

}  // namespace wireproof
