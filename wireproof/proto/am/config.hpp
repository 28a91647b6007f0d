// Every figure of SP AM in one place. The paper's machine and today's networks run the same engine
// with other figures.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "wireproof/base/expected.hpp"
#include "wireproof/base/instant.hpp"

namespace wireproof::am {

/// The two widths of the one header (wire_format.hpp).
enum class Layout : std::uint8_t { sp2, ethernet };

/// What a receiver does with packets ahead of the one it expects.
enum class Recovery : std::uint8_t {
    go_back_n,  // drops them; a NACK has everything resent (the paper's way)
    selective,  // holds them; a NACK names what is missing
};

/// Whether a channel has fewer packets under way than its window where the path is shared.
enum class Congestion : std::uint8_t {
    off,  // for paths of one's own: the window is all that limits
    on,   // core/congestion_window.hpp, a channel; needs selective recovery
};

/// The two channels of a connection; the second of each pair carries what the first asked for.
enum class Channel : std::uint8_t { request = 0, reply = 1 };
inline constexpr std::size_t channel_count = 2;

/// Whose header a packet has on an IP network.
enum class IpVersion : std::uint8_t { v4, v6 };

/// Bytes of an IP packet around a packet of ours: the IP header and UDP's.
constexpr std::size_t ip_and_udp_size(IpVersion ip) {
    return ip == IpVersion::v6 ? 48 : 28;
}

/// The path that a configuration is sized for.
struct PathFigures {
    double bytes_per_second = 1.25e9;                   // 10 Gbit/s
    Duration round_trip = Duration::microseconds(200);  // with the time a host takes to look
};

struct Config {
    Layout layout = Layout::ethernet;
    Recovery recovery = Recovery::selective;
    Congestion congestion = Congestion::off;  // of what we send; the peer may have the other
    /// Bytes of stores and gets are trusted to the carrier: a CHUNK's checksum covers its header
    /// alone, an OPEN's all of it.
    bool trusts_payload = false;
    std::size_t packet_max = 1472;   // bytes, header included
    std::size_t message_max = 1424;  // bytes of a request or reply
    std::size_t bundle_max = 0;      // bytes of short messages that leave as one packet; 0: never
    /// Bytes of a store that travel with its OPEN: one that has no more needs no chunk.
    std::size_t open_bytes = 0;

    std::uint64_t modulus = std::uint64_t{1} << 32;               // of sequence numbers
    std::array<std::uint32_t, channel_count> first_number{};      // of a session
    std::array<std::uint32_t, channel_count> window{1024, 1024};  // packets
    std::uint32_t chunk_packets = 32;                             // packets of a whole chunk
    std::uint32_t chunks_in_flight = 2;                           // of one transfer
    std::uint32_t ack_chunks = 1;      // whole chunks to an acknowledgement, but for a store's last
    std::uint32_t reply_places = 128;  // replies waiting for the window
    std::uint32_t stores_max = 16;     // open at once, each way
    std::uint32_t gets_max = 16;       // asked for at once
    std::uint32_t get_slots = 4;       // served at once
    std::size_t save_bytes =
        std::size_t{256} * 1024;       // arguments kept until acknowledged, a channel
    std::uint32_t held_packets = 128;  // short packets held ahead (selective)

    Duration keepalive_after = Duration::milliseconds(5);  // T_ka: above two round trips
    /// Where round trips are measured, T_ka falls to three of the longest lately, but not below
    /// this: a lost last packet is asked for that soon. 0: it stays as it is.
    Duration probe_after{};
    /// An acknowledgement that is held back below the mark leaves after so long by itself, before
    /// the sender asks for it. 0: it waits to be asked.
    Duration ack_after{};
    Duration keepalive_max = Duration::milliseconds(500);  // doubling ends here
    std::uint32_t keepalive_limit = 4;  // K_ka: unanswered ones that end a session
    Duration peer_timeout = Duration::milliseconds(10'000);  // and the silence that must go with it
    /// So often a packet leaves again and the peer answers that it has not come, for as long as
    /// peer_timeout at least, before the session ends: the path does not carry it. From half of
    /// that on each waits twice as long as the one before, up to keepalive_max. 0: never, and none
    /// waits.
    std::uint32_t resend_limit = 16;
    /// While none of a transfer's packets was acknowledged, so many may be under way: a path that
    /// loses all of them is found out with few. Nothing without a resend_limit.
    std::uint32_t first_flight = 64;

    /// False, for tests: every packet goes the general way, and so does every call. Nothing that
    /// can be seen of an engine depends on it but the time it takes.
    bool fast_paths = true;

    std::uint32_t poll_every = 1;  // the front polls at every k-th request
    /// While so many packets of requests and stores are under way, or stores and gets that are
    /// answered as soon as they arrive, the front lets those that follow wait from one turn to the
    /// next until they are as many; a turn in which nothing is asked for sends them. 0: each turn
    /// does. On shared memory each publication takes from the peer the line that it waits on; over
    /// UDP few packets would leave in a super-packet.
    std::uint32_t coalesce = 0;
    /// But only where turns follow one another so soon, and for so long at most. How many are under
    /// way tells no busy stream from one whose peer acknowledges seldom.
    Duration coalesce_for{};
    std::uint32_t fifo_entries = 0;  // of the adapter's receive FIFO; 0: none
    std::uint32_t lazy_pop = 0;      // polled messages before entries go back to the adapter

    std::uint16_t node = 0;  // our own number in the job, and the peer's
    std::uint16_t peer = 1;
    std::uint64_t job = 0;                // both ends must name the same
    std::optional<std::uint64_t> cookie;  // of the only session, from a launcher; else HELLOs agree
    std::uint64_t seed = 1;               // of nonces

    /// The paper's machine: 256-byte packets, chunks of 36, windows 75 and 76, go-back-N.
    static Config sp2();

    /// The same protocol sized for today: `mtu` is the IP packet in bytes, `path` decides the
    /// chunks in flight. Both ends must have the same `ip`; IPv6 leaves room for either header.
    static Config ethernet(std::size_t mtu = 1500, PathFigures path = {},
                           IpVersion ip = IpVersion::v4);

    /// The same between processes of one host, on a wire that loses nothing while the peer lives:
    /// windows are credits, and a header with 8 bytes of words takes 56 bytes.
    static Config shared_memory();

    std::size_t header_size() const { return layout == Layout::sp2 ? 32 : 48; }
    std::size_t data_max() const { return packet_max - header_size(); }
    std::size_t chunk_bytes() const { return data_max() * chunk_packets; }
    /// The longest store or get, bytes: what the offset field can name.
    std::uint64_t transfer_max() const {
        return layout == Layout::sp2 ? 0xFFFFFFFF : std::uint64_t{1} << 62;
    }
    std::uint32_t window_of(Channel channel) const {
        return window[static_cast<std::size_t>(channel)];
    }

    /// How long a peer may be silent, and keep-alives so often meanwhile that a wire that loses a
    /// third of all frames does not look like a dead peer: a score of them, unless the time is too
    /// short for so many first intervals.
    void give_up_after(Duration silence);

    /// What cannot work, in one line (AM-51). Fronts call it; searches build engines without.
    Expected<void> check() const;

    /// A digest of all that both ends must have in common; HELLO carries it.
    std::uint64_t terms() const;
};

}  // namespace wireproof::am
