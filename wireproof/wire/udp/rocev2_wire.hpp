// InfiniBand packets in UDP datagrams, as adapters and Linux's Soft-RoCE speak them: port 4791,
// every packet ends in its ICRC. The wire puts it on and takes it off: engines see a packet from
// base header to pad, and only packets whose ICRC was right. Plain sockets, no privilege.
//
// Packets of one length to one peer leave as segments of a super-packet (send_batch.hpp), in which
// the kernel counts the IPv4 identification up, from 0: the ICRC of segment i covers i. A packet
// that is sent again leaves by itself, so that it also reaches a peer that super-packets do not.
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
#include "wireproof/wire/udp/icrc.hpp"
#include "wireproof/wire/udp/identification_window.hpp"
#include "wireproof/wire/udp/receive_batch.hpp"
#include "wireproof/wire/udp/send_batch.hpp"
#include "wireproof/wire/udp/shown_datagrams.hpp"
#include "wireproof/wire/udp/socket.hpp"

namespace wireproof {

/// Where the IPv4 identification of a received packet comes from, which its ICRC covers.
enum class IdentificationSource : std::uint8_t {
    worked_out,  // from the ICRC that came; needs nothing
    shown,       // from the header, by a raw socket; needs CAP_NET_RAW
    /// From the header; worked out where no raw socket may be opened, and on loopback, where it
    /// would be shown super-packets whole.
    shown_if_permitted,
};

/// Where packets leave as segments of super-packets.
enum class SuperPackets : std::uint8_t {
    nowhere,
    on_loopback,  // the kernel hands them over whole, or cuts them up for those who want that
    everywhere,   // on ways to other hosts, too, whose devices must count identifications up
};

/// Why packets were not handed up, and what left.
struct Rocev2Counters {
    UdpCounters udp;               // unknown_source: of a host that is no peer
    std::uint64_t too_short = 0;   // for base header and ICRC, or headers that do not agree
    std::uint64_t icrc_wrong = 0;  // whatever identification the kernel hides
    std::uint64_t identification_jumped =
        0;  // right only with one far from the peer's last: no damage
    /// Of those handed up, how many had an identification that was worked out.
    std::uint64_t identified = 0;
};

/// The way to one peer. All lanes share the wire's batch: it is full for all of them at once, and
/// only until the next flush.
class Rocev2Lane {
public:
    /// What arrives is intact. `frame_max` is that of a packet; the frame that claim() lends has
    /// four bytes more, which are not an engine's to use.
    LaneCapabilities capabilities() const { return capabilities_; }
    TxFrame* claim();
    /// The frame's first piece has a base header at least.
    void commit();
    /// The same of a frame that stands in its room as a whole (TxFrame::add_all), and one bit of it
    /// is flipped once the ICRC is there: nothing but the ICRC tells the receiver.
    void commit_damaged(std::size_t bit);

    const Address& address() const { return address_; }

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
    SocketAddress to_{};
    IdentificationWindow identifications_;
};

class Rocev2Wire {
public:
    /// Ports of 0 are 4791.
    struct Config {
        Address local = {};               // of one interface: the ICRC covers it
        std::vector<Address> peers = {};  // by PeerId
        /// A host that is no peer becomes one with its first packet, up to so many peers in all.
        std::size_t peers_max = 0;
        std::size_t frame_max = 1056;  // bytes of a packet: a path MTU of 1024
        int receive_buffer = 4 << 20;  // bytes wanted; the kernel may grant less
        int send_buffer = 4 << 20;
        std::size_t batch = 64;  // packets per system call
        IdentificationSource identification = IdentificationSource::worked_out;
        /// As far as the kernel knows how. A wire that sends them has UDP's checksum, too.
        SuperPackets super_packets = SuperPackets::on_loopback;
    };

    static Expected<Rocev2Wire> open(const Config& config);

    /// Bytes of the longest packet that the way to a peer carries today, and no more than the
    /// longest there is. Packets are never cut up on their way.
    static Expected<std::size_t> frame_max_between(const Address& local, const Address& peer);

    /// The same of all that leaves by the interface of a local address, whoever the peer.
    static Expected<std::size_t> frame_max_at(const Address& local);

    /// Gives a peer, known or the next, its address. No two peers are on one host.
    Expected<void> set_peer(PeerId peer, const Address& address);

    /// From now on hosts that are no peers become some with their first packet, up to so many in
    /// all; fewer than there are change nothing.
    void welcome(std::size_t peers_max) { config_.peers_max = peers_max; }
    /// The peer on this host, whatever the port.
    std::optional<PeerId> peer_at(const Address& host) const;

    Address local_address() const { return local_; }
    const Rocev2Counters& counters() const { return counters_; }
    std::size_t peers() const { return lanes_.size(); }

    Rocev2Lane& lane(PeerId peer);
    std::optional<RxFrame> receive(Instant now);
    void flush(Instant) { sending_->flush(socket_.handle(), counters_.udp, errors_); }
    /// What the kernel said of the peer since it was last heard.
    PeerTrouble trouble(PeerId peer) const { return errors_.of(static_cast<std::size_t>(peer)); }
    std::optional<std::pair<PeerId, WireEvent>> next_event() { return std::nullopt; }
    Instant next_deadline() const { return never; }

    /// Received identifications are read, not worked out. Over IPv6 there are none: false.
    bool shows_identifications() const { return shown_.has_value(); }

    /// In a forked child: the sockets are the parent's alone. Nothing may be sent or received then.
    void abandon() {
        socket_.abandon();
        if (shown_) shown_->abandon();
    }

    /// Readable when packets came.
    int wait_handle() const { return shown_ ? shown_->handle() : socket_.handle(); }
    /// False: packets wait here, where the handle does not show them.
    bool prepare_to_sleep() const { return !receiving_.has_frame(); }

private:
    /// A packet that came, its ICRC not yet believed. Without headers they are hidden.
    struct Arrival {
        Address from;
        ConstBytes headers;
        ConstBytes packet;
        std::uint32_t icrc = 0;
        std::size_t place = 0;  // in its super-packet
    };

    Rocev2Wire(UdpSocket socket, std::optional<ShownDatagrams> shown, const Config& config);

    std::optional<Arrival> arrival_of(const ReceiveBatch::Frame& datagram);
    std::optional<RxFrame> checked(const Arrival& arrival, const ArrivalTime& came);
    /// Whether the ICRC is right, with a believable identification; counts what is not.
    bool icrc_holds(const Arrival& arrival, const ArrivalTime& came, IdentificationWindow& window);

    UdpSocket socket_;
    std::optional<ShownDatagrams> shown_;
    Address local_;
    std::unique_ptr<SendBatch> sending_;  // lanes point at it
    ReceiveBatch receiving_;
    Config config_;
    std::deque<Rocev2Lane> lanes_;  // a deque, so that a new peer leaves the others where they are
    std::unordered_map<Address, std::size_t, AddressHash> numbers_;  // by host, ports left out
    Rocev2Counters counters_;
    std::uint16_t counted_from_ = 0;     // the identification of the datagram's first segment
    std::optional<Instant> last_empty_;  // when nothing waited, or before the first look
    KernelErrors errors_;
};

static_assert(Lane<Rocev2Lane>);
static_assert(Wire<Rocev2Wire>);

}  // namespace wireproof
