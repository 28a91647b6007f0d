// Where the parts of a flit are, and the bytes that this layer owns.
//
//   pcie:      | data 236 (TLP bytes)      | DLP 6  | CRC 8 | ECC 6 |    256 bytes
//   cxl:       | HDR 2 | data 240                   | CRC 8 | ECC 6 |    256 bytes
//   cxl_halves: see halves.hpp                                           256 bytes
//   ucie_256:  | header 2 | data 240 | zeros 10 | CRC of 0-127, 2 | CRC of 128-251, 2 |
//   ucie_68:   | header 2 | data 64 | CRC 2 |
//
//   DLP0 and HDR0:  7:6 usage (00 NOP, 01 payload) | 5 the flit before had payload |
//                   4 DLP2-5 hold a marker | 3:2 command | 1:0 number[9:8]
//   DLP1 and HDR1:  number[7:0]
//   UCIe:           7:6 protocol (00 NOP) | 5 stack | 4 pause | 3:0 number[7:4]
//                   7:6 reserved | 5:4 command | 3:0 number[3:0]
//   command:        00 explicit number | 01 Ack | 10 standard Nak | 11 selective Nak
//
// The last byte of the data is the length of the message, because a flit always carries all its
// data bytes. The other data bytes after the message are zeros.
#pragma once

#include <cstdint>
#include <optional>

#include "wireproof/base/check.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/proto/flit/crc.hpp"

namespace wireproof::flit {

enum class Format : std::uint8_t { pcie, cxl, ucie_68, ucie_256, cxl_halves };

inline constexpr std::size_t flit_max = 256;
inline constexpr std::size_t length_size = 1;  // of the field in the data

/// UCIe has neither a bit for the flit before, nor selective Naks.
constexpr bool has_usage(Format format) {
    return format == Format::pcie || format == Format::cxl || format == Format::cxl_halves;
}

struct Shape {
    std::size_t size = 0;  // of a flit, bytes
    std::size_t data_at = 0;
    std::size_t data_size = 0;  // with the length field
    std::size_t header_at = 0;
    std::size_t header_size = 0;
    std::uint32_t number_max = 0;

    static constexpr Shape of(Format format) {
        switch (format) {
            case Format::pcie: return {256, 0, 236, 236, 6, 1023};
            case Format::cxl: return {256, 2, 240, 0, 2, 1023};
            case Format::cxl_halves: return {256, 2, 236, 0, 2, 1023};  // data_size of both halves
            case Format::ucie_68: return {68, 2, 64, 0, 2, 255};
            case Format::ucie_256: return {256, 2, 240, 0, 2, 255};
        }
        return {};
    }
    constexpr std::size_t data_end() const { return data_at + data_size; }
};

enum class Command : std::uint8_t {
    explicit_number = 0,
    ack = 1,
    standard_nak = 2,
    selective_nak = 3,
};

struct Header {
    bool payload = false;        // else a NOP, or IDLE
    bool prior_payload = false;  // of the flit before; UCIe: always false
    Command command = Command::explicit_number;
    std::uint32_t number = 0;  // 0: none

    bool idle() const { return !payload && command == Command::explicit_number && number == 0; }

    /// Writes all header_size bytes of the shape to `to`.
    void encode(Format format, std::byte* to) const;
    /// Reads the first two bytes. Nothing: a reserved usage or command.
    static std::optional<Header> decode(Format format, const std::byte* from);

    friend bool operator==(const Header&, const Header&) = default;
};

/// Writes a flit with this message, which has at most data_size - length_size bytes. If the frame
/// wants no check, the bytes of CRC and ECC are zeros, and the message may be lent.
void write_flit(Format format, CrcOrder order, const Header& header, ConstBytes message,
                TxFrame& out);

/// Writes CRC and ECC behind the bytes that they cover.
void write_checks(Format format, CrcOrder order, std::span<std::byte> flit);

/// Whether CRC fits the bytes of a flit of the right size. Not for cxl_halves: find_halves().
bool crc_matches(Format format, CrcOrder order, ConstBytes flit);

/// A received flit, in one piece or with a message that is lent.
struct FlitPieces {
    const std::byte* header = nullptr;
    std::optional<ConstBytes> message;  // nothing: its length contradicts the flit

    /// Nothing: the frame has not the size of a flit. Not for cxl_halves, whose messages have two
    /// parts: join_halves().
    static std::optional<FlitPieces> of(Format format, const RxFrame& frame);
};

/// Names a flit "payload", "NOP" or "IDLE", with "+Nak" or "+SNak" if it carries a standard or a
/// selective Nak. `number` is its own number, if that is on the wire; `ack` is the number that its
/// Ack or Nak acknowledges. The bytes may be without a message that is lent.
FrameInfo describe(ConstBytes frame);           // Format::pcie
FrameInfo describe_cxl(ConstBytes frame);       // Format::cxl and cxl_halves
FrameInfo describe_ucie_68(ConstBytes frame);   // Format::ucie_68
FrameInfo describe_ucie_256(ConstBytes frame);  // Format::ucie_256
Describe describe_of(Format format);

// Inline, because a simulated line reads each flit in a few nanoseconds.
inline std::optional<Header> Header::decode(Format format, const std::byte* from) {
    const std::uint32_t first = std::to_integer<std::uint32_t>(from[0]);
    const std::uint32_t second = std::to_integer<std::uint32_t>(from[1]);
    if ((first & 0x80) != 0) return std::nullopt;
    Header header;
    header.payload = (first & 0x40) != 0;
    if (has_usage(format)) {
        header.prior_payload = (first & 0x20) != 0;
        header.command = static_cast<Command>(first >> 2 & 3);
        header.number = (first & 3) << 8 | second;
        return header;
    }
    header.command = static_cast<Command>(second >> 4 & 3);
    header.number = (first & 0xF) << 4 | (second & 0xF);
    if (header.command == Command::selective_nak) return std::nullopt;
    return header;
}

inline std::optional<FlitPieces> FlitPieces::of(Format format, const RxFrame& frame) {
    WIREPROOF_CHECK(format != Format::cxl_halves);
    const Shape shape = Shape::of(format);
    if (frame.size() != shape.size) return std::nullopt;
    const std::size_t behind = shape.size - shape.data_end();
    // A lent message is at the begin of the data; the length and all after it are not lent.
    if (frame.bytes.size() < shape.data_at + length_size + behind) return std::nullopt;
    if (!frame.lent.empty() && frame.lent_at != shape.data_at) return std::nullopt;
    const std::byte* const data_end = frame.bytes.data() + frame.bytes.size() - behind;
    FlitPieces pieces;
    pieces.header = shape.header_at == 0 ? frame.bytes.data() : data_end;
    const auto length = std::to_integer<std::size_t>(data_end[-1]);
    if (length > shape.data_size - length_size) return pieces;
    if (frame.lent.empty()) {
        pieces.message = frame.bytes.subspan(shape.data_at, length);
    } else if (length == frame.lent.size()) {
        pieces.message = frame.lent;
    }
    return pieces;
}

}  // namespace wireproof::flit
