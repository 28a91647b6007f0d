// Flits of 68 bytes as on a CXL link (CXL.cachemem), and the training sets that this project sends
// where a real link trains its physical layer.
//
//   protocol id  data                        CRC
//   2            64                          2 (low byte first)        68 bytes
//
//   data of a message:  byte 0: bit 0 = 0, bit 3 Ak | length 1 | 0 0 | message 0 … 60, then zeros
//   data of control:    byte 0: bit 0 = 1, bit 3 Ak | 0 0 0 | LLCTRL, SubType | 0 0 0 | payload 8 …
//
//   training set: 0xBC | flags | own round | peer's round | the complement of these four   8 bytes
//
// The header of a real protocol flit has four bytes, too. There, bytes 1 to 3 hold credits and the
// formats of slots; here, they hold the length of the message.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/frame_info.hpp"
#include "wireproof/proto/cxl/flit_crc.hpp"

namespace wireproof::cxl {

inline constexpr std::size_t flit_size = 68;          // bytes, with protocol id and CRC
inline constexpr std::size_t message_room = 60;       // bytes of a message in a flit
inline constexpr std::uint16_t protocol_id = 0xD2D2;  // a choice of this project
inline constexpr std::uint32_t acks_of_ak = 8;        // what the Ak bit of a message means
inline constexpr std::uint32_t acks_max = 255;        // that one LLCRD carries

enum class FlitKind : std::uint8_t {
    message,  // a protocol flit
    llcrd,    // acknowledgements
    idle,
    request,
    ack,
    frame,
    init,
    unknown,  // a control flit that this engine does not know
};

/// The receiver counts and acknowledges these flits; the sender keeps them until then (CXL-16).
constexpr bool retryable(FlitKind kind) {
    return kind == FlitKind::message || kind == FlitKind::llcrd || kind == FlitKind::init;
}

/// The 64 data bytes of a flit to send.
using FlitBytes = std::array<std::byte, data_size>;

/// `acknowledges`: the flit has the Ak bit. The message has at most 60 bytes.
FlitBytes message_flit(ConstBytes message, bool acknowledges);
FlitBytes llcrd_flit(std::uint32_t acks);
/// `wrap`: the number after which the sender's numbers begin with 0 again.
FlitBytes init_flit(std::uint32_t wrap);
FlitBytes idle_flit();
FlitBytes frame_flit();

/// RETRY.Req: asks for all flits from Eseq on.
struct RetryRequest {
    std::uint32_t eseq = 0;            // 8 bits
    std::uint32_t num_retry = 0;       // 5 bits
    std::uint32_t num_phy_reinit = 0;  // 5 bits

    FlitBytes encode() const;
    static RetryRequest decode(FlitData from);
    friend bool operator==(const RetryRequest&, const RetryRequest&) = default;
};

/// RETRY.Ack: the flits that were asked for follow.
struct RetryAck {
    bool empty = false;           // there are none
    bool viral = false;           // never set by this engine
    std::uint32_t num_retry = 0;  // of the request, 5 bits
    std::uint32_t wr_ptr = 0;     // the number of the next new flit, 8 bits
    std::uint32_t eseq = 0;       // of the request, 8 bits
    std::uint32_t num_free_buf = 0;

    FlitBytes encode() const;
    static RetryAck decode(FlitData from);
    friend bool operator==(const RetryAck&, const RetryAck&) = default;
};

FlitKind kind_of(FlitData data);
/// How many flits a message or an LLCRD acknowledges.
std::uint32_t acks_in(FlitData data);
/// Nothing: the length is above 60, so this is not a message of this engine.
std::optional<ConstBytes> message_in(FlitData data);
/// The wrap value in an INIT.Param.
std::uint32_t wrap_in(FlitData data);

/// Writes protocol id, data and CRC. If `checks` is false, the CRC is zero.
void write_flit(FlitData data, bool checks, std::span<std::byte, flit_size> to);

/// The data of a received flit. Nothing: the line damaged it. A flit line loses no flit silently,
/// so a frame that is not a flit counts as a damaged flit.
std::optional<FlitData> read_flit(const RxFrame& frame);

/// What an end sends while it trains (CXL-20): BC, the flags, both numbers, and a CRC-32C of these.
struct TrainingSet {
    static constexpr std::size_t size = 8;

    bool fresh = false;      // the sender has no state of this link: all begins again
    bool heard = false;      // the sender has received a training set in this training, and
    bool done = false;       // has ended it
    std::uint8_t own = 0;    // the number of the sender's training
    std::uint8_t peers = 0;  // if heard: the number in the training set that it received
    bool down = false;       // the sender has given the link up (CXL-10); the rest says nothing

    void encode(std::span<std::byte, size> to) const;
    static std::optional<TrainingSet> decode(ConstBytes from);
    friend bool operator==(const TrainingSet&, const TrainingSet&) = default;
};

/// The name of a frame: "data", "LLCRD", "RETRY.Req" … No flit carries its own number. The number
/// of RETRY.Req and RETRY.Ack is Eseq; `ack` is how many flits it acknowledges.
FrameInfo describe(ConstBytes frame);

}  // namespace wireproof::cxl
