// The bytes of SP AM packets. There is one header in two widths; README.md draws both byte by byte.
// All functions here take bytes from the network: bytes that do not decode make a malformed packet,
// never a failed assertion.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/proto/am/config.hpp"

namespace wireproof::am {

/// HELLOs compare it: ends of different versions make no session.
inline constexpr std::uint64_t wire_format_version = 8;

enum class Kind : std::uint8_t {
    request = 1,      // REQ: runs a handler
    reply = 2,        // REP: the only answer to it
    chunk = 3,        // CHUNK: bytes of a store or get
    open = 4,         // OPEN: announces a store
    get_request = 5,  // GET_REQ: asks for a get
    ack = 6,
    nack = 7,
    keepalive = 8,
    hello = 9,
    bundle = 10,   // BUNDLE: several REQ, or several REP, of consecutive numbers
    unknown = 11,  // UNKNOWN: this node has no session with this cookie
};
inline constexpr std::size_t kind_count = 12;  // one more than the last

/// The kind of the messages that run handlers at the peer.
constexpr Kind message_kind(Channel channel) {
    return channel == Channel::request ? Kind::request : Kind::reply;
}

// `count` of a NACK: two bits, and above them how many packets arrived with a mark (AM-54). Here
// and below, "I" is the node that sends the frame.
inline constexpr std::uint16_t nack_overrun = 1;  // my host had no room for some frames
inline constexpr std::uint16_t nack_refuses = 2;  // it arrived, but there is no room for it yet
inline constexpr unsigned nack_marks_shift = 2;
inline constexpr std::uint32_t nack_marks_modulus = 1 << 14;
// `id` of a NACK: you leave, and I have your acknowledgements (AM-55).
inline constexpr std::uint32_t nack_to_leaver = 1;
// `count` of a KEEPALIVE: I leave, and all my messages are acknowledged (AM-55).
inline constexpr std::uint16_t keepalive_leaves = 1;
// `count` of an UNKNOWN: how the session ended at its sender. 0: its sender does not know the
// session.
inline constexpr std::uint16_t unknown_silent = 1;      // you were silent
inline constexpr std::uint16_t unknown_unanswered = 2;  // a packet of mine never reached you

/// Packets that are sent in order and saved until acknowledged: REQ, REP, CHUNK, OPEN, GET_REQ,
/// BUNDLE.
constexpr bool is_numbered(Kind kind) {
    return kind <= Kind::get_request || kind == Kind::bundle;
}

/// Handlers have 16 bits, in all layouts.
inline constexpr std::uint32_t handler_max = 0xFFFF;

struct Header {
    std::uint16_t dst = 0;
    std::uint16_t src = 0;
    Kind kind = Kind::ack;
    Channel channel = Channel::request;
    bool in_place = false;     // OPEN: no chunks follow; it carries all bytes, or they are in place
    std::uint8_t route = 0;    // 0..3
    std::uint8_t round = 0;    // round of the sender; NACK: round of the packet that caused it
    std::uint16_t count = 0;   // REQ, REP: bytes; CHUNK: packets of the chunk; BUNDLE: messages;
                               // HELLO: 1 asks for an answer; NACK, UNKNOWN: see above
    std::uint64_t cookie = 0;  // 0 only in HELLO
    std::uint32_t number = 0;  // own; NACK: the expected one; KEEPALIVE: that after the last sent
    std::array<std::uint32_t, channel_count> ack{};  // expected next on each of the peer's channels
    std::uint32_t id = 0;                            // handler or transfer
    std::uint64_t offset = 0;  // CHUNK: of its data in the transfer; UNKNOWN: proof of the job
    // OPEN or CHUNK of a transfer: bytes after the data without meaning.
    std::uint16_t filler = 0;

    friend bool operator==(const Header&, const Header&) = default;
};

/// Writes the header with a checksum of zero. `to` has Config::header_size() bytes.
void encode(const Header& header, Layout layout, Bytes to);

/// Puts the checksum of the whole packet into its encoded header.
void store_checksum(Layout layout, Bytes header, std::uint32_t checksum);

/// Whether a packet's checksum covers its data as well as its header. That of a CHUNK does not, if
/// the carrier alone checks the payload (Config::trusts_payload). It never covers filler.
constexpr bool covers_data(Kind kind, bool trusts_payload) {
    return kind != Kind::chunk || !trusts_payload;
}
inline ConstBytes covered(ConstBytes data, Kind kind, bool trusts_payload) {
    return covers_data(kind, trusts_payload) ? data : ConstBytes();
}

/// CRC-32C of the packet, in two pieces, header and data; the checksum field counts as zero.
std::uint32_t checksum(Layout layout, ConstBytes header, ConstBytes data);

/// Nothing: the packet is too short, or a field has a value that no sender writes.
std::optional<Header> decode(Layout layout, ConstBytes packet);

/// Whether the checksum in the packet is right for the bytes that it covers.
bool checksum_holds(Layout layout, ConstBytes packet, bool trusts_payload = false);

/// The entry before each message of a BUNDLE.
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

/// The body of an OPEN. After it come the store's first Config::open_bytes bytes, or all of its
/// bytes.
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

/// The bytes before the map of a selective NACK. Bit i of the map says whether the packet at
/// distance i has arrived.
struct NackBody {
    static constexpr std::size_t size = 8;
    std::uint32_t end = 0;    // distance of the packet that caused the NACK from the expected one
    std::uint32_t reach = 0;  // up to it, a packet without a bit has not arrived
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

/// What was refused, in a REP with the reserved handler 0. A note (an OPEN without chunks) is named
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
