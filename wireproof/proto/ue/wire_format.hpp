// Frames and control ordered sets (CtlOS) as on an Ultra Ethernet line. Here each is a frame of the
// wire of its own. On a real line a CtlOS may also stand inside a frame.
//
//   FB  number  55 55 55  D5  destination  source  type   length  data      pad      FCS
//   1   3       3         1   6            6       88 B5  2       0 … 9216  0 … 44   4
//
//   4B  type  number, 6  init_data  0          8 bytes, no check (or a CRC-32 behind it, LLR-38)
//   1   1     3          2          1
//
// LLR adds no byte: its number stands in the preamble of Ethernet. A frame without a number
// (ineligible) has 55 in these places. `length` is that of the data, because short frames are
// padded to 64 bytes from destination to FCS. 88 B5 is the type for local experiments.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/proto/ue/config.hpp"

namespace wireproof::ue {

inline constexpr std::size_t preamble_size = 8;
inline constexpr std::size_t frame_overhead = 28;  // all bytes of a frame besides data and pad
inline constexpr std::size_t longest_payload = 9216;
inline constexpr std::size_t longest_frame = longest_payload + frame_overhead;
inline constexpr std::size_t gap_size = 12;  // idle bytes after a frame on a line; not in frames

inline constexpr std::byte start_byte{0xFB};
inline constexpr std::byte ctl_byte{0x4B};

/// The 8 bytes before each frame. Nothing: the frame is not eligible for retry.
struct Preamble {
    std::optional<std::uint32_t> number;  // 20 bits

    void encode(std::span<std::byte, preamble_size> to, PreambleOrder order) const;
    /// Nothing: this is no preamble.
    static std::optional<Preamble> decode(std::span<const std::byte, preamble_size> from,
                                          PreambleOrder order);
    friend bool operator==(const Preamble&, const Preamble&) = default;
};

/// Preamble, Ethernet header and length: the bytes before the data.
struct FrameHead {
    static constexpr std::size_t size = 24;
    Preamble preamble;
    std::size_t length = 0;  // bytes of the message

    void encode(std::span<std::byte, size> to, PreambleOrder order) const;
    /// The length. Nothing: the frame has another type.
    static std::optional<std::size_t> decode_length(std::span<const std::byte, size> from);
};

/// A received frame in pieces. The data may be lent, outside of the frame's bytes.
struct FramePieces {
    std::span<const std::byte, FrameHead::size> head;
    ConstBytes data;  // the message, and the padding if it lies in the same piece
    ConstBytes pad;   // the padding if it lies apart
    std::span<const std::byte, 4> tail;

    /// Nothing: the frame is too short.
    static std::optional<FramePieces> of(const RxFrame& frame);

    /// Over all bytes between preamble and FCS, or with the preamble (Config::checks_numbers).
    std::uint32_t computed_fcs(bool with_preamble) const;
    std::uint32_t stored_fcs() const { return load_le<std::uint32_t>(tail); }
};

/// The FCS of a frame that leaves.
struct FcsTerms {
    bool computed = true;  // false: it is 0
    bool with_preamble = false;
    std::uint32_t poison = 0;  // xored to it
};

/// Writes padding and FCS to `to`, after a frame with this head and data.
void encode_tail(std::span<const std::byte, FrameHead::size> head, ConstBytes data, Bytes to,
                 const FcsTerms& terms);

/// CF_Update belongs to the credits of Ultra Ethernet, which this engine does not have.
enum class CtlType : std::uint8_t {
    ack = 0x01,
    nack = 0x02,
    init = 0x03,
    init_echo = 0x04,
    cf_update = 0x10,
};

/// A control ordered set.
struct CtlOs {
    static constexpr std::size_t size = 8;
    static constexpr std::size_t checked_size = 12;  // and a CRC-32 of these 8 (LLR-38)

    CtlType type = CtlType::ack;
    std::uint32_t number = 0;     // 20 bits
    std::uint16_t init_data = 0;  // only of INIT and INIT_ECHO

    void encode(std::span<std::byte, size> to, NibbleOrder order) const;
    /// Nothing: these bytes are no CtlOS of a known type.
    static std::optional<CtlOs> decode(std::span<const std::byte, size> from, NibbleOrder order);

    /// Adds a whole frame to `out`, with or without a check as the settings say.
    void write(const Config& config, TxFrame& out) const;
    /// Nothing: the frame is damaged, or no CtlOS of this length.
    static std::optional<CtlOs> read(const Config& config, const RxFrame& frame);
    friend bool operator==(const CtlOs&, const CtlOs&) = default;
};

inline bool starts_with(ConstBytes frame, std::byte first) {
    return !frame.empty() && frame[0] == first;
}

/// The name of a frame, "FRAME", "PLAIN" (ineligible), "ACK", "NACK", "INIT" or "INIT_ECHO", and
/// its number if it has one. It expects the first order of both settings.
FrameInfo describe(ConstBytes frame);

}  // namespace wireproof::ue
