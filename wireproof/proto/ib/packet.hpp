// A packet from its base header to its pad, as engines see it: what carries it puts integrity
// checks around it and takes them off. Received bytes are nobody's word: what does not decode has a
// reason, never an assertion.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "wireproof/base/expected.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/proto/ib/headers.hpp"
#include "wireproof/proto/ib/opcode.hpp"
#include "wireproof/proto/ib/path_mtu.hpp"

namespace wireproof::proto::ib {

/// The base header and those behind it. The opcode says which of them travel; the others keep their
/// default values.
struct Headers {
    Bth bth;
    Deth deth = {};
    Reth reth = {};
    AtomicEth atomic = {};
    Aeth aeth = {};
    AtomicAckEth atomic_ack = {};
    ImmDt immediate = {};
    Ieth invalidate = {};
    friend bool operator==(const Headers&, const Headers&) = default;
};

/// Why bytes are no packet, in the order in which it is asked.
enum class Malformed : std::uint8_t {
    too_short,       // for a base header
    version,         // of a transport that does not exist
    unknown_opcode,  // reserved, or of a transport not spoken here
    headers_cut,     // its opcode has more headers than there are bytes
    pad_too_long,    // more pad than bytes behind the headers
};

inline constexpr std::array<std::string_view, 5> malformed_names = {
    "too short for a base header", "unknown transport version", "unknown opcode",
    "headers cut short", "more pad than payload"};

constexpr std::string_view name_of(Malformed reason) {
    return malformed_names[static_cast<std::size_t>(reason)];
}

/// A decoded packet; its payload is the frame's.
struct Packet {
    Headers headers;
    const Opcode* opcode = nullptr;  // never null in a packet that was decoded
    ConstBytes payload;

    /// Does not ask whether the payload has a length that its opcode and path MTU allow: that is
    /// the responder's to answer. Nor does a reserved opcode hide whose it is: Bth::decode works on
    /// every frame that is not too short.
    static ExpectedOr<Packet, Malformed> decode(const RxFrame& frame);

    const Bth& bth() const { return headers.bth; }
    /// Whether payload and pad together are whole words, as every sender must make them.
    bool padded_right() const { return (payload.size() + headers.bth.pad) % 4 == 0; }
};

/// Writes a packet whose opcode is one of the table's into `out`; sets its pad count. The payload
/// is only pointed at if it is one piece, and must then stay put until the wire is flushed; several
/// pieces are brought together in the lane's room.
void encode(const Headers& headers, std::span<const ConstBytes> payload, TxFrame& out);

/// Bytes of the packet that encode would write for so much payload.
constexpr std::size_t packet_size(const Opcode& opcode, std::size_t payload) {
    return Bth::size + opcode.extended_size() + (payload + 3) / 4 * 4;
}

/// The longest packet of any opcode; what carries packets needs at least this much room.
constexpr std::size_t packet_max(std::size_t path_mtu) {
    return packet_size(*find_opcode(opcode_of(Transport::rc, Operation::write_only_immediate)),
                       path_mtu);
}

/// The largest path MTU whose packets all fit into frames of so many bytes; 0: none does.
constexpr std::size_t path_mtu_within(std::size_t frame_max) {
    std::size_t largest = 0;
    for (const std::size_t path_mtu : path_mtus) {
        if (packet_max(path_mtu) <= frame_max) largest = path_mtu;
    }
    return largest;
}

/// The opcode's name, or that of an acknowledgement's syndrome ("ACK", "RNR NAK", "NAK sequence"),
/// the queue pair it is sent to, and its PSN: as `ack` in acknowledgements, else as `number`.
FrameInfo describe(ConstBytes packet);

}  // namespace wireproof::proto::ib
