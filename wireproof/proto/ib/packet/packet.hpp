// A packet from its base header to its pad, as engines see it. The code that carries packets adds
// the integrity checks and removes them. Received bytes are not trusted: a packet that does not
// decode gives a reason and never causes an assertion.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "wireproof/base/expected.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/proto/ib/packet/headers.hpp"
#include "wireproof/proto/ib/packet/opcode.hpp"
#include "wireproof/proto/ib/packet/path_mtu.hpp"

namespace wireproof::proto::ib {

/// The base header and the headers after it. The opcode says which headers travel; the others keep
/// their default values.
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

/// Why bytes are not a packet. decode checks the reasons in this order.
enum class Malformed : std::uint8_t {
    too_short,       // for a base header
    version,         // unknown transport version
    unknown_opcode,  // reserved, or its transport is not supported
    headers_cut,     // the headers of the opcode do not fit into the bytes
    pad_too_long,    // the pad is longer than the bytes after the headers
};

inline constexpr std::array<std::string_view, 5> malformed_names = {
    "too short for a base header", "unknown transport version", "unknown opcode",
    "headers cut short", "more pad than payload"};

constexpr std::string_view name_of(Malformed reason) {
    return malformed_names[static_cast<std::size_t>(reason)];
}

/// A decoded packet. The payload points into the frame and is valid as long as the frame.
struct Packet {
    Headers headers;
    const Opcode* opcode = nullptr;  // never null in a decoded packet
    ConstBytes payload;

    /// Does not check that the payload has a length that opcode and path MTU allow: the responder
    /// answers a wrong length. After a reserved opcode, the caller can still read the base header:
    /// Bth::decode works on every frame that is not too short.
    static ExpectedOr<Packet, Malformed> decode(const RxFrame& frame);

    const Bth& bth() const { return headers.bth; }
    /// Whether payload and pad together are a multiple of 4 bytes, as every sender must make them.
    bool padded_right() const { return (payload.size() + headers.bth.pad) % 4 == 0; }
};

/// Writes a packet into `out` and sets its pad count. The opcode must be in the table. A payload of
/// one piece is referenced, so it must stay valid until the wire is flushed. Several pieces are
/// copied into memory of the lane.
void encode(const Headers& headers, std::span<const ConstBytes> payload, TxFrame& out);

/// The length of the packet that encode writes for `payload` bytes.
constexpr std::size_t packet_size(const Opcode& opcode, std::size_t payload) {
    return Bth::size + opcode.extended_size() + (payload + 3) / 4 * 4;
}

/// The length of the longest packet of any opcode. A carrier of packets needs at least this much
/// room.
constexpr std::size_t packet_max(std::size_t path_mtu) {
    return packet_size(*find_opcode(opcode_of(Transport::rc, Operation::write_only_immediate)),
                       path_mtu);
}

/// The largest path MTU whose packets all fit into frames of `frame_max` bytes; 0 if there is none.
constexpr std::size_t path_mtu_within(std::size_t frame_max) {
    std::size_t largest = 0;
    for (const std::size_t path_mtu : path_mtus) {
        if (packet_max(path_mtu) <= frame_max) largest = path_mtu;
    }
    return largest;
}

/// Gives the name of the opcode or, for an acknowledgement, of its syndrome ("ACK", "RNR NAK", "NAK
/// sequence"). Gives also the destination queue pair and the PSN: in `ack` for an acknowledgement,
/// otherwise in `number`.
FrameInfo describe(ConstBytes packet);

}  // namespace wireproof::proto::ib
