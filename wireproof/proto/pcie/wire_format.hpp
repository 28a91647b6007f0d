// TLPs and DLLPs as on an 8b/10b link, with framing symbols. A frame is one TLP or one DLLP. (Links
// of 128b/130b frame the same bytes with tokens of the same total length.)
//
//   STP  number  header  data      pad    ECRC  LCRC  END
//   1    2       16      0 … 4096  0 … 4  4     4     1     28 bytes besides data and pad
//
//   SDP  type  body  CRC  END
//   1    1     3     2    1                                 8 bytes
//
// A message travels as a memory write. The length in double words and the byte enables give its
// length, so each length from 0 on is exact. Numbers are big-endian; CRCs have the low byte first.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/proto/pcie/config.hpp"

namespace wireproof::pcie {

/// The bytes of the control symbols K27.7, K28.2, K29.7 and K30.7.
enum class Symbol : std::uint8_t { stp = 0xFB, sdp = 0x5C, end = 0xFD, edb = 0xFE };

inline constexpr std::size_t tlp_overhead = 28;
inline constexpr std::size_t data_unit = 16;  // bytes of a data credit
inline constexpr std::size_t longest_frame = 4096 + tlp_overhead;

/// Framing, number and header of a TLP: the bytes before its data.
struct TlpHead {
    static constexpr std::size_t size = 19;
    std::uint32_t number = 0;  // 12 bits
    FlowType type = FlowType::posted;
    std::size_t length = 0;  // bytes of the message

    void encode(std::span<std::byte, size> to) const;
    /// `from` is of a TLP with a good LCRC. Nothing: it is not a memory write as this engine sends
    /// it.
    static std::optional<TlpHead> decode(std::span<const std::byte, size> from);

    std::size_t padding() const { return length == 0 ? 4 : (4 - length % 4) % 4; }
    std::size_t frame_size() const { return tlp_overhead + length + padding(); }
};

/// The bytes after the data and the padding.
struct TlpTail {
    static constexpr std::size_t size = 9;
};

/// A received TLP in pieces. The data may be lent, outside of the frame's bytes.
struct TlpPieces {
    std::span<const std::byte, TlpHead::size> head;
    ConstBytes data;     // the message, and the padding if it lies in the same piece
    ConstBytes padding;  // the padding if it lies apart
    std::span<const std::byte, TlpTail::size> tail;

    /// Nothing: the frame is too short for a TLP.
    static std::optional<TlpPieces> of(const RxFrame& frame);

    std::uint32_t number() const;
    std::uint32_t computed_lcrc() const;
    std::uint32_t stored_lcrc() const;
    bool ends_bad() const;  // EDB instead of END
    bool ends_good() const;
    bool ecrc_matches() const;
};

/// Writes padding, ECRC, LCRC and the last symbol to `to`, after a TLP with this head and data. If
/// `checks` is false, both CRCs are zero.
void encode_tail(std::span<const std::byte, TlpHead::size> head, ConstBytes data, Bytes to,
                 bool nullified, bool checks);

enum class DllpKind : std::uint8_t {
    ack = 0x00,
    nak = 0x10,
    init_fc1 = 0x40,
    init_fc2 = 0xC0,
    update_fc = 0x80,
};

/// A packet of the data link layer.
struct Dllp {
    static constexpr std::size_t size = 8;

    std::uint32_t word = 0;  // type 8, body 24

    static Dllp ack(std::uint32_t number) { return {number & 0xFFF}; }
    static Dllp nak(std::uint32_t number) { return {0x10000000 | (number & 0xFFF)}; }
    /// For virtual channel 0.
    static Dllp flow_control(DllpKind kind, FlowType type, Credits credits);

    std::uint32_t type() const { return word >> 24; }
    bool is_ack() const { return type() == 0x00; }
    bool is_nak() const { return type() == 0x10; }
    std::uint32_t number() const { return word & 0xFFF; }
    /// InitFC1, InitFC2 or UpdateFC of virtual channel 0; nothing for other DLLPs.
    std::optional<DllpKind> flow_control_kind() const;
    FlowType flow_type() const { return static_cast<FlowType>((word >> 28) & 3); }
    Credits credits() const { return {(word >> 14) & 0xFF, word & 0xFFF}; }

    void encode(std::span<std::byte, size> to, bool check) const;
    /// Nothing: the framing is wrong or, if `check` is true, the CRC is.
    static std::optional<Dllp> decode(std::span<const std::byte, size> from, bool check);

    friend bool operator==(const Dllp&, const Dllp&) = default;
};

inline bool starts_with(ConstBytes frame, Symbol symbol) {
    return !frame.empty() && frame[0] == static_cast<std::byte>(symbol);
}

/// The name of a frame, "TLP", "Ack", "Nak", "InitFC1-P" …, and its number if it has one.
FrameInfo describe(ConstBytes frame);

}  // namespace wireproof::pcie
