// The bytes of a HIPPI-6400 micropacket: 32 data bytes, then a control word of 8 bytes. One
// micropacket is one frame. The bytes may come from a hostile peer: bytes that do not decode are
// malformed, and never cause an assertion.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame_info.hpp"

namespace wireproof::hippi {

inline constexpr std::size_t data_size = 32;
inline constexpr std::size_t control_size = 8;
inline constexpr std::size_t unit_size = data_size + control_size;
inline constexpr std::size_t channel_count = 4;  // virtual channels

/// TSEQ: the unit needs no acknowledgement and is never resent. RSEQ: acknowledges nothing.
inline constexpr std::uint8_t no_number = 255;

/// The most credits that one control word can return.
inline constexpr std::uint8_t credits_max = 63;

using DataBytes = std::array<std::byte, data_size>;

enum class Type : std::uint8_t {
    null = 0,
    header = 1,
    data = 2,
    credit = 3,
    admin = 4,
    status_null = 5,
    init = 8,
    init_ack = 9,
    reset = 10,
    reset_ack = 11,
};

/// The sender keeps the unit until it is acknowledged, so the unit has a number.
constexpr bool is_numbered(Type type) {
    return type >= Type::header && type <= Type::admin;
}

/// The unit occupies a buffer at the peer, so it needs a credit.
constexpr bool needs_credit(Type type) {
    return is_numbered(type) && type != Type::credit;
}

/// Bit 63 is the first on the wire.
///
///      63 62 61      58 57   56    55  54 53  48 47  40 39  32 31  16 15   0
///     +-----+----------+----+-----+------+------+------+------+------+------+
///     | VC  |   TYPE   |TAIL|ERROR| VCR  |  CR  | TSEQ | RSEQ | ECRC | LCRC |
///     +-----+----------+----+-----+------+------+------+------+------+------+
struct Control {
    static constexpr std::size_t size = control_size;
    std::uint8_t channel = 0;  // VC
    Type type = Type::null;
    bool tail = false;
    bool error = false;  // the message was bad before it came to this link
    std::uint8_t credit_channel = 0;
    std::uint8_t credits = 0;
    std::uint8_t tseq = no_number;
    std::uint8_t rseq = no_number;
    std::uint16_t ecrc = 0;
    std::uint16_t lcrc = 0;

    void encode(std::span<std::byte, size> to) const;
    /// Nothing: an unknown type, a number on a type that has none, or none on a type that needs
    /// one.
    static std::optional<Control> decode(std::span<const std::byte, size> from);

    friend bool operator==(const Control&, const Control&) = default;
};

/// The LCRC: the check of this link over data and control word. Its own field counts as zero.
std::uint16_t lcrc(std::span<const std::byte, data_size> data,
                   std::span<const std::byte, control_size> control);

/// Writes the LCRC into an encoded control word.
void store_lcrc(std::span<std::byte, control_size> control, std::uint16_t value);

/// The LCRC in an encoded control word.
std::uint16_t stored_lcrc(std::span<const std::byte, control_size> control);

/// The data of a header unit: the length of the message in the data units that follow.
///
///      0        8                              32
///     | length |            zero                 |      little-endian
struct HeaderBody {
    static constexpr std::size_t size = data_size;
    std::uint64_t length = 0;  // bytes, without the padding of the last unit
    void encode(std::span<std::byte, size> to) const;
    static std::optional<HeaderBody> decode(std::span<const std::byte, size> from);
};

/// The data of INIT, INIT-ACK, RESET and RESET-ACK.
///
///      0       8      16      24   26   28   30   32
///     | epoch | echo | terms | C0 | C1 | C2 | C3 |      little-endian
struct StartBody {
    static constexpr std::size_t size = data_size;
    std::uint64_t epoch = 0;  // the life of the link at the sender
    std::uint64_t echo = 0;   // in the two answers: the epoch that is answered
    std::uint64_t terms = 0;  // a digest of the settings that both ends must share
    std::array<std::uint16_t, channel_count> credits{};  // buffers for micropackets, by channel
    void encode(std::span<std::byte, size> to) const;
    static StartBody decode(std::span<const std::byte, size> from);
};

/// Takes a whole micropacket, or only a control word if a cable carries the data by reference. For
/// a null, the number is the one that it acknowledges.
FrameInfo describe(ConstBytes frame);

}  // namespace wireproof::hippi
