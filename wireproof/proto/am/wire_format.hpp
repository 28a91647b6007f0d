// The bytes of SP AM. One header in two widths; README.md draws both byte by byte. Everything here
// takes bytes nobody trusts: what does not decode is malformed, never an assertion.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::am {

/// Part of what HELLOs compare: ends of different versions do not meet.
inline constexpr std::uint64_t wire_format_version = 7;

enum class Kind : std::uint8_t {
    request = 1,      // REQ: runs a handler
    reply = 2,        // REP: the one answer to it
    chunk = 3,        // CHUNK: bytes of a store or get
    open = 4,         // OPEN: announces a store
    get_request = 5,  // GET_REQ: asks for a get
    ack = 6,
    nack = 7,
    keepalive = 8,
    hello = 9,
    bundle = 10,   // BUNDLE: several REQ, or several REP, of consecutive numbers
    unknown = 11,  // UNKNOWN: nobody here has the session whose cookie this is
};
inline constexpr std::size_t kind_count = 12;  // one more than the last

/// Of the messages that run handlers at the end of the channel.
constexpr Kind message_kind(Channel channel) {
    return channel == Channel::request ? Kind::request : Kind::reply;
}

// What a NACK's count says, by bits.
inline constexpr std::uint16_t nack_overrun = 1;  // my host had no room for some frames
inline constexpr std::uint16_t nack_refuses = 2;  // the packet came, and I have no room for it yet
// `count` of an UNKNOWN: how the session ended here; 0: nobody here knows of it.
inline constexpr std::uint16_t unknown_silent = 1;      // nothing of you was heard any more
inline constexpr std::uint16_t unknown_unanswered = 2;  // a packet of mine never reached you

/// Sent in order, saved until acknowledged: REQ, REP, CHUNK, OPEN, GET_REQ, BUNDLE.
constexpr bool is_numbered(Kind kind) {
    return kind <= Kind::get_request || kind == Kind::bundle;
}

struct Header {
    std::uint16_t dst = 0;
    std::uint16_t src = 0;
    Kind kind = Kind::ack;
    Channel channel = Channel::request;
    bool in_place = false;   // of an OPEN: no chunks follow, its bytes are there or behind its body
    std::uint8_t route = 0;  // 0..3
    std::uint8_t round = 0;  // the sender's resend round; in a NACK that of the packet that drew it
    std::uint16_t count = 0;   // REQ, REP: bytes; packets of the chunk; messages of the bundle;
                               // HELLO: answer me; NACK: bits, above
    std::uint64_t cookie = 0;  // 0 only in HELLO
    std::uint32_t number = 0;  // own; NACK: the one expected; KEEPALIVE: first that has not left
    std::array<std::uint32_t, channel_count> ack{};  // next expected on each of the peer's channels
    std::uint32_t id = 0;                            // handler or transfer
    std::uint64_t offset = 0;  // of a CHUNK's data in its transfer; UNKNOWN: proof of the job
    // Of a transfer's OPEN or CHUNK: bytes at the end that say nothing.
    std::uint16_t filler = 0;

    friend bool operator==(const Header&, const Header&) = default;
};

/// Writes the header with a checksum of zero. `to` has Config::header_size() bytes.
void encode(const Header& header, Layout layout, Bytes to);

/// Puts the checksum of the whole packet into its encoded header.
void store_checksum(Layout layout, Bytes header, std::uint32_t checksum);

/// Whether a packet's checksum covers its data, besides the header: not that of a CHUNK, where
/// payload is trusted to the carrier (Config::trusts_payload). It never covers filler.
constexpr bool covers_data(Kind kind, bool trusts_payload) {
    return kind != Kind::chunk || !trusts_payload;
}
inline ConstBytes covered(ConstBytes data, Kind kind, bool trusts_payload) {
    return covers_data(kind, trusts_payload) ? data : ConstBytes();
}

/// CRC-32C over the packet with the checksum field taken as zero, in pieces: header, then data.
std::uint32_t checksum(Layout layout, ConstBytes header, ConstBytes data);

/// Nothing: too short, or a field has a value no sender writes.
std::optional<Header> decode(Layout layout, ConstBytes packet);

/// Whether the checksum that the packet carries is that of the bytes which it covers.
bool checksum_holds(Layout layout, ConstBytes packet, bool trusts_payload = false);

/// In front of each message of a BUNDLE.
struct BundleEntry {
    static constexpr std::size_t size = 4;
    std::uint16_t handler = 0;
    std::uint16_t bytes = 0;
    void encode(std::span<std::byte, size> to) const {
        store_le_at<std::uint32_t, 0>(to, handler | std::uint32_t{bytes} << 16);
    }
    static BundleEntry decode(std::span<const std::byte, size> from) {
        const auto word = load_le_at<std::uint32_t, 0>(from);
        return {static_cast<std::uint16_t>(word), static_cast<std::uint16_t>(word >> 16)};
    }
};

/// Behind it the store's first Config::open_bytes bytes, or all of them.
struct OpenBody {
    static constexpr std::size_t size = 24;
    std::uint64_t address = 0;
    std::uint64_t total = 0;
    std::uint32_t handler = 0;
    std::uint32_t argument = 0;
    void encode(std::span<std::byte, size> to) const;
    static OpenBody decode(std::span<const std::byte, size> from);
};

struct GetBody {
    static constexpr std::size_t size = 16;
    std::uint64_t address = 0;
    std::uint64_t total = 0;
    void encode(std::span<std::byte, size> to) const;
    static GetBody decode(std::span<const std::byte, size> from);
};

/// In front of the map of a selective NACK, whose bit i says that the packet at distance i is
/// there.
struct NackBody {
    static constexpr std::size_t size = 8;
    std::uint32_t end = 0;    // distance of the packet that drew it from the expected one
    std::uint32_t reach = 0;  // how far the map speaks; where it has no more bits, nothing is there
    void encode(std::span<std::byte, size> to) const;
    static NackBody decode(std::span<const std::byte, size> from);
};

struct HelloBody {
    static constexpr std::size_t size = 32;
    std::uint64_t job = 0;
    std::uint64_t nonce = 0;
    std::uint64_t echo = 0;   // the peer's nonce, 0 if unknown
    std::uint64_t terms = 0;  // Config::terms()
    void encode(std::span<std::byte, size> to) const;
    static HelloBody decode(std::span<const std::byte, size> from);
};

/// What a REP of the reserved handler 0 says was refused. A note, an OPEN without chunks, is named
/// by its number.
enum class Refusal : std::uint32_t { handler = 1, store = 2, get = 3, note = 4 };

struct RefusalBody {
    static constexpr std::size_t size = 12;
    std::uint32_t what = 0;  // Refusal
    std::uint32_t id = 0;    // handler, transfer or number
    std::uint32_t reason = 0;
    void encode(std::span<std::byte, size> to) const;
    static RefusalBody decode(std::span<const std::byte, size> from);
};

/// For traces, scripts and captures.
FrameInfo describe_sp2(ConstBytes packet);
FrameInfo describe_ethernet(ConstBytes packet);
constexpr Describe describe_of(Layout layout) {
    return layout == Layout::sp2 ? describe_sp2 : describe_ethernet;
}

}  // namespace wireproof::am
