// InfiniBand packets in UDP datagrams, as adapters and Linux's Soft-RoCE exchange them: on port
// 4791, each with an ICRC at its end. The wire adds and removes the ICRC. Engines see a packet from
// base header to pad, and only packets whose ICRC is right. By default the wire uses plain sockets
// and needs no privilege.
//
// Packets of one length to one peer leave as segments of a super-packet (send_batch.hpp). The
// kernel counts their IPv4 identifications up from 0, so the ICRC of segment i covers
// identification i. A retransmitted packet leaves alone, so that it also reaches a peer that
// super-packets do not reach.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "wireproof/core/peer_set.hpp"
#include "wireproof/core/wire.hpp"
#include "wireproof/os/address.hpp"
#include "wireproof/wire/udp/counters.hpp"
#include "wireproof/wire/udp/icrc.hpp"
#include "wireproof/wire/udp/identification_window.hpp"
#include "wireproof/wire/udp/receive_batch.hpp"
#include "wireproof/wire/udp/send_batch.hpp"
#include "wireproof/wire/udp/shown_datagrams.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

/// How the receiver learns the IPv4 identification of a packet, which the ICRC covers.
enum class IdentificationSource : std::uint8_t {
    worked_out,  // computed from the received ICRC; needs no privilege
    shown,       // from the header, by a raw socket; needs CAP_NET_RAW
    /// From the header if possible. Computed if the process may not open a raw socket, and on
    /// loopback, where a raw socket shows super-packets whole.
    shown_if_permitted,
};

/// Where packets leave as segments of super-packets.
enum class SuperPackets : std::uint8_t {
    nowhere,
    on_loopback,  // the kernel delivers them whole, or cuts them up for receivers that need it
    everywhere,   // also to other hosts; a device that cuts them must count identifications up
};

/// Counts received packets that the wire dropped, and packets that it sent.
struct Rocev2Counters {
    UdpCounters udp;               // unknown_source: of a host that is no peer
    std::uint64_t too_short = 0;   // shorter than base header and ICRC, or its headers do not agree
    std::uint64_t icrc_wrong = 0;  // with every identification
    std::uint64_t identification_jumped =
        0;  // not damaged, but its identification is far from the peer's last
    /// Packets passed to the engine whose identification was computed.
    std::uint64_t identified = 0;
};

/// The lane to one peer. All lanes share the wire's batch: if it is full, no lane lends room until
/// the next flush.
class Rocev2Lane {
public:
    /// Frames arrive intact. `frame_max` is the longest packet. The frame that claim() lends has
    /// four more bytes for the ICRC; an engine must not use them.
    LaneCapabilities capabilities() const { return capabilities_; }
    TxFrame* claim();
    /// The first piece of the frame must have at least a base header.
    void commit();
    /// The same, but flips one bit of the frame after the ICRC is in it, so that only the ICRC
    /// tells the receiver of the damage. The whole frame must be in its room (TxFrame::add_all).
    void commit_damaged(std::size_t bit);

    /// Not set while no host has this number.
    const Address& address() const { return address_; }
    /// Returns true once for each host that gets this number.
    bool take_new() { return std::exchange(is_new_, false); }

private:
    friend class Rocev2Wire;

    Rocev2Lane(SendBatch* batch, LaneCapabilities capabilities, const Address& local,
               std::size_t peer)
        : batch_(batch), capabilities_(capabilities), local_(local), peer_(peer) {}

    void add_icrc();
    void hand_on();

    SendBatch* batch_;
    LaneCapabilities capabilities_;
    TxFrame* claimed_ = nullptr;
    Address local_;
    std::size_t peer_;
    Address address_;
    Route route_{};
    IdentificationWindow identifications_;
    bool is_new_ = false;
    bool is_stranger_ = false;
};

class Rocev2Wire {
public:
    /// Port 0 means 4791.
    struct Config {
        Address local = {};               // of one interface: the ICRC covers it
        std::vector<Address> peers = {};  // by PeerId
        /// A host that is no peer becomes one with its first right packet, until there are this
        /// many strangers: hosts that became peers in this way.
        std::size_t strangers_max = 0;
        std::size_t frame_max = 1056;  // bytes of a packet: a path MTU of 1024
        int receive_buffer = 4 << 20;  // bytes wanted; the kernel may grant less
        int send_buffer = 4 << 20;
        std::size_t batch = 64;  // packets per system call
        IdentificationSource identification = IdentificationSource::worked_out;
        /// Only if the kernel supports them. A wire that sends super-packets also sends UDP's
        /// checksum.
        SuperPackets super_packets = SuperPackets::on_loopback;
        /// If the kernel refuses it, no packet is marked. The ICRC covers no ECN field, so packets
        /// that a router marks are right.
        Ecn ecn = Ecn::off;
    };

    static Expected<Rocev2Wire> open(const Config& config);

    /// Bytes of the longest packet that the path to the peer carries now, at most
    /// rocev2_packet_max. Packets are never fragmented on their way.
    static Expected<std::size_t> frame_max_between(const Address& local, const Address& peer);

    /// The same for all packets that leave by the interface of a local address, to any peer.
    static Expected<std::size_t> frame_max_at(const Address& local);

    /// Sets the address of a known peer, or adds the next peer. Two peers cannot have one host.
    /// The peer is no stranger.
    Expected<void> set_peer(PeerId peer, const Address& address);
    /// The number of the next new peer. Empty: no number is left.
    std::optional<PeerId> next_peer() const;

    /// From now on, a host that is no peer becomes one with its first right packet, until there are
    /// `strangers_max` strangers. A lower number removes no peer.
    void welcome(std::size_t strangers_max) { config_.strangers_max = strangers_max; }
    /// The host becomes a peer, as if its first packet had come. Empty: there are enough strangers,
    /// or no peer can have this address.
    std::optional<PeerId> add_stranger(const Address& address);
    /// The user names this peer: it is no stranger any more.
    void acquaint(PeerId peer);
    /// The host is no peer any more, and its number is free for another host. The caller has
    /// forgotten the number, and no packet to the peer waits for the flush.
    void forget(PeerId peer);
    /// Forgets all peers except these, and returns the forgotten ones.
    PeerSet forget_all_but(const PeerSet& kept);
    bool is_peer(PeerId peer) const {
        const auto number = static_cast<std::size_t>(peer);
        return number < lanes_.size() && lanes_[number].address_.is_set();
    }
    bool is_stranger(PeerId peer) const {
        return lanes_.at(static_cast<std::size_t>(peer)).is_stranger_;
    }
    /// The peer on this host, with any port.
    std::optional<PeerId> peer_at(const Address& host) const;

    Address local_address() const { return local_; }
    const Rocev2Counters& counters() const { return counters_; }
    std::size_t peers() const { return numbers_.size(); }
    std::size_t strangers() const { return strangers_; }

    Rocev2Lane& lane(PeerId peer);
    std::optional<RxFrame> receive(Instant now);
    void flush(Instant) { sending_->flush(socket_.handle(), counters_.udp, errors_); }
    /// The kernel's errors for this peer: see KernelErrors.
    PeerTrouble trouble(PeerId peer) const { return errors_.of(static_cast<std::size_t>(peer)); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }
    Instant next_deadline() const { return never; }

    /// True: the wire reads received identifications from the headers. Always false over IPv6,
    /// which has none.
    bool shows_identifications() const { return shown_.has_value(); }

    /// For a forked child: closes its copies of the sockets. The child must not send or receive
    /// here.
    void abandon() {
        socket_.abandon();
        if (shown_) shown_->abandon();
    }

    /// Readable when the kernel has packets.
    int wait_handle() const { return shown_ ? shown_->handle() : socket_.handle(); }
    /// False: packets wait here, where the handle does not show them, so the caller must not sleep.
    bool prepare_to_sleep() const { return !receiving_.has_frame(); }

private:
    void forget_host(std::size_t number);

    /// A received packet whose ICRC is not yet checked. `headers` is empty if the socket hides
    /// them.
    struct Arrival {
        Address from;
        ConstBytes headers;
        ConstBytes packet;
        std::uint32_t icrc = 0;
        std::size_t place = 0;  // its index in the super-packet
        bool marked = false;    // by a router
    };

    Rocev2Wire(UdpSocket socket, std::optional<ShownDatagrams> shown, const Config& config);

    std::optional<Arrival> arrival_of(const ReceiveBatch::Frame& datagram);
    std::optional<RxFrame> checked(const Arrival& arrival, const ArrivalTime& came);
    /// Whether the ICRC is right with an identification that the window accepts. If not, counts
    /// why.
    bool icrc_holds(const Arrival& arrival, const ArrivalTime& came, IdentificationWindow& window);

    UdpSocket socket_;
    std::optional<ShownDatagrams> shown_;
    Address local_;
    std::unique_ptr<SendBatch> sending_;  // lanes point at it
    ReceiveBatch receiving_;
    Config config_;
    std::deque<Rocev2Lane> lanes_;  // a deque: a new peer does not move the others
    std::vector<PeerId> free_;      // numbers of lanes without a host
    std::size_t strangers_ = 0;
    std::unordered_map<Address, std::size_t, AddressHash> numbers_;  // by host, with port 0
    Rocev2Counters counters_;
    std::uint16_t counted_from_ = 0;  // the identification of the datagram's first segment
    // When the kernel was last seen to have nothing, and the same before the packets that wait here
    // were taken. At first the beginning of time: packets may have waited since the wire was
    // opened.
    Instant empty_at_;
    Instant taken_after_;
    KernelErrors errors_;
};

static_assert(Lane<Rocev2Lane>);
static_assert(Wire<Rocev2Wire>);

}  // namespace wireproof
