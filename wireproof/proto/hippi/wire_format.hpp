// The bytes of a HIPPI-6400 micropacket: 32 data bytes, then the 8 bytes of its control word; one
// micropacket is one frame. Everything here takes bytes nobody trusts: what does not decode is
// malformed, never an assertion.
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

/// As TSEQ: needs no acknowledgement and is never sent again. As RSEQ: acknowledges nothing.
inline constexpr std::uint8_t no_number = 255;

/// Credits that one control word can return.
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

/// Kept until acknowledged, so it has a number.
constexpr bool is_numbered(Type type) {
    return type >= Type::header && type <= Type::admin;
}

/// Takes a buffer over there, so it needs a credit.
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
    bool error = false;  // the message is known to be bad upstream
    std::uint8_t credit_channel = 0;
    std::uint8_t credits = 0;
    std::uint8_t tseq = no_number;
    std::uint8_t rseq = no_number;
    std::uint16_t ecrc = 0;
    std::uint16_t lcrc = 0;

    void encode(std::span<std::byte, size> to) const;
    /// Nothing: a type that no sender writes, or one that has a number and may not, or lacks it.
    static std::optional<Control> decode(std::span<const std::byte, size> from);

    friend bool operator==(const Control&, const Control&) = default;
};

/// The check of this link, over data and control word with its own field taken as zero.
std::uint16_t lcrc(std::span<const std::byte, data_size> data,
                   std::span<const std::byte, control_size> control);

/// Puts the check into an encoded control word.
void store_lcrc(std::span<std::byte, control_size> control, std::uint16_t value);

/// The check that an encoded control word carries.
std::uint16_t stored_lcrc(std::span<const std::byte, control_size> control);

/// Data of a header unit: how long the message is whose data units follow.
///
///      0        8                              32
///     | length |            zero                 |      little-endian
struct HeaderBody {
    static constexpr std::size_t size = data_size;
    std::uint64_t length = 0;  // bytes, without the zeros that fill its last unit
    void encode(std::span<std::byte, size> to) const;
    static std::optional<HeaderBody> decode(std::span<const std::byte, size> from);
};

/// Data of INIT, INIT-ACK, RESET and RESET-ACK.
///
///      0       8      16      24   26   28   30   32
///     | epoch | echo | terms | C0 | C1 | C2 | C3 |      little-endian
struct StartBody {
    static constexpr std::size_t size = data_size;
    std::uint64_t epoch = 0;  // the life of the link at the sender
    std::uint64_t echo = 0;   // in the two answers: the epoch answered
    std::uint64_t terms = 0;  // a digest of what both ends must have in common
    std::array<std::uint16_t, channel_count> credits{};  // buffers for micropackets, by channel
    void encode(std::span<std::byte, size> to) const;
    static StartBody decode(std::span<const std::byte, size> from);
};

/// Of a whole micropacket, or of a control word alone where a cable carries data by reference. A
/// null's number is the number that it acknowledges.
FrameInfo describe(ConstBytes frame);

}  // namespace wireproof::hippi
