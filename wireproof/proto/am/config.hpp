// All settings of SP AM. The paper's machine and today's networks run the same engine with
// different settings.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"
#include "wireproof/core/congestion/kind.hpp"

namespace wireproof::am {

/// The two widths of the header (wire_format.hpp).
enum class Layout : std::uint8_t { sp2, ethernet };
/// Bytes of a header.
constexpr std::size_t header_size_of(Layout layout) {
    return layout == Layout::sp2 ? 32 : 48;
}

/// What a receiver does with packets that arrive before the one it expects.
enum class Recovery : std::uint8_t {
    go_back_n,  // drops them; the sender then resends all from the missing one (as in the paper)
    selective,  // keeps them; a NACK names the missing packets
};

/// Whether congestion control limits the packets in flight of a channel below its window. It needs
/// selective recovery.
using Congestion = congestion::Kind;

/// The two channels of a connection. The reply channel carries the answers to the request channel.
enum class Channel : std::uint8_t { request = 0, reply = 1 };
inline constexpr std::size_t channel_count = 2;
constexpr Channel opposite(Channel channel) {
    return channel == Channel::request ? Channel::reply : Channel::request;
}

/// The IP version of the network.
enum class IpVersion : std::uint8_t { v4, v6 };

/// Bytes of an IP packet before a packet of SP AM: the IP header and the UDP header.
constexpr std::size_t ip_and_udp_size(IpVersion ip) {
    return ip == IpVersion::v6 ? 48 : 28;
}

/// The path for which ethernet() computes a configuration.
struct PathFigures {
    double bytes_per_second = 1.25e9;                   // 10 Gbit/s
    Duration round_trip = Duration::microseconds(200);  // with the time until a host polls
};

struct Config {
    Layout layout = Layout::ethernet;
    Recovery recovery = Recovery::selective;
    Congestion congestion = Congestion::off;  // for what this end sends; the peer may differ
    /// The carrier alone checks the bytes of stores and gets: the checksum of a CHUNK covers only
    /// its header. The checksum of an OPEN covers all of it.
    bool trusts_payload = false;
    std::size_t packet_max = 1472;   // bytes, with the header
    std::size_t message_max = 1424;  // bytes of a request or reply
    std::size_t bundle_max = 0;      // bytes of short messages in one packet; 0: no bundles
    /// First bytes of a store that its OPEN carries. A store that is not longer needs no chunk.
    std::size_t open_bytes = 0;

    std::uint64_t modulus = std::uint64_t{1} << 32;               // of sequence numbers
    std::array<std::uint32_t, channel_count> first_number{};      // at the beginning of a session
    std::array<std::uint32_t, channel_count> window{1024, 1024};  // packets
    std::uint32_t chunk_packets = 32;                             // packets of a full chunk
    std::uint32_t chunks_in_flight = 2;                           // of one transfer
    std::uint32_t ack_chunks = 1;  // full chunks per acknowledgement; a store's last has its own
    std::uint32_t reply_places = 128;  // replies that may wait for room in the window
    std::uint32_t stores_max = 16;     // active at the same time, in each direction
    std::uint32_t gets_max = 16;       // active at the same time
    std::uint32_t get_slots = 4;       // gets of the peer that this end serves at the same time
    std::size_t save_bytes =
        std::size_t{256} * 1024;       // arguments of unacknowledged messages, for each channel
    std::uint32_t held_packets = 128;  // short packets kept ahead (selective)

    Duration keepalive_after = Duration::milliseconds(5);  // T_ka: more than two round trips
    /// If this is not 0, the sender measures round trips. T_ka then falls to three times the
    /// longest of the last ones, but not below this value, so that the sender soon asks for a lost
    /// last packet.
    Duration probe_after{};
    /// The receiver sends an acknowledgement that it holds back after this time, before the sender
    /// asks for it. 0: it waits until the sender asks.
    Duration ack_after{};
    Duration keepalive_max = Duration::milliseconds(500);  // doubling stops here
    std::uint32_t keepalive_limit = 4;  // K_ka: so many unanswered keep-alives end a session
    Duration peer_timeout = Duration::milliseconds(10'000);  // and only after this silence
    /// The session ends when one packet has left again this many times, over at least peer_timeout,
    /// and the peer has answered each time that it has not arrived: the path does not carry it.
    /// From the eighth resend on, the wait before each further one doubles, up to keepalive_max. 0:
    /// the session never ends for this reason, and no resend waits.
    std::uint32_t resend_limit = 16;
    /// Until a long packet of a transfer is acknowledged, at most this many packets may be in
    /// flight. A path that loses all of them then costs few packets. It has no effect without a
    /// resend_limit.
    std::uint32_t first_flight = 64;

    /// False, for tests: every packet and every call takes the general path. Only the time that the
    /// engine takes depends on it.
    bool fast_paths = true;

    std::uint32_t poll_every = 1;  // the front polls at every k-th request
    /// The front holds new packets back from one turn to the next, until this many wait, in two
    /// cases: at least this many packets are in flight, or the last packet was a store or get that
    /// the peer answers at once. A turn in which the caller asks for nothing sends them. 0: each
    /// turn sends. On shared memory, each publication slows a peer that polls. Over UDP, few
    /// packets would leave in one super-packet.
    std::uint32_t coalesce = 0;
    /// The front holds packets back only if turns follow one another within this time, and for at
    /// most this long. The number in flight alone does not show a busy stream: the peer may
    /// acknowledge seldom.
    Duration coalesce_for{};
    std::uint32_t fifo_entries = 0;  // entries of the adapter's receive FIFO; 0: it has none
    std::uint32_t lazy_pop = 0;      // messages polled before their entries go back to the adapter

    std::uint16_t node = 0;  // this node's number in the job, and the peer's
    std::uint16_t peer = 1;
    std::uint64_t job = 0;                // equal at both ends
    std::optional<std::uint64_t> cookie;  // of the only session, by a launcher; else HELLOs agree
    std::uint64_t seed = 1;               // for nonces

    /// The paper's machine: 256-byte packets, chunks of 36, windows 75 and 76, go-back-N.
    static Config sp2();

    /// The same protocol for today's networks. `mtu` is the length of an IP packet in bytes; `path`
    /// decides how many chunks are in flight. Both ends must have the same `ip`. Packets for IPv6
    /// also fit into IPv4.
    static Config ethernet(std::size_t mtu = 1500, PathFigures path = {},
                           IpVersion ip = IpVersion::v4);

    /// The same protocol between processes of one host, on a wire that loses nothing while the peer
    /// lives. The windows work as credits. A message with 8 bytes of arguments takes a frame of 56
    /// bytes.
    static Config shared_memory();

    /// Acknowledgements are held back for a limited time.
    bool holds_acks() const { return ack_after > Duration(); }
    /// The fast paths may be taken.
    bool takes_fast_paths() const { return layout == Layout::ethernet && fast_paths; }
    std::size_t header_size() const { return header_size_of(layout); }
    std::size_t data_max() const { return packet_max - header_size(); }
    std::size_t chunk_bytes() const { return data_max() * chunk_packets; }
    /// The longest store or get, in bytes: what the offset field can express.
    std::uint64_t transfer_max() const {
        return layout == Layout::sp2 ? 0xFFFFFFFF : std::uint64_t{1} << 62;
    }
    std::uint32_t window_of(Channel channel) const {
        return window[static_cast<std::size_t>(channel)];
    }

    /// Sets peer_timeout, and keepalive_max so that about twenty keep-alives leave in that time.
    /// Then a wire that loses a third of all frames does not look like a dead peer. There are fewer
    /// if the time is too short for twenty first intervals.
    void give_up_after(Duration silence);

    /// An error, in one line, if the settings cannot work (AM-51). Fronts call it. Searches do not.
    Expected<void> check() const;

    /// A digest of the settings that both ends must share. HELLO carries it.
    std::uint64_t terms() const;
};

}  // namespace wireproof::am
