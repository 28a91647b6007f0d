#include "wireproof/proto/cxl/wire_format.hpp"

#include <algorithm>

#include "wireproof/base/crc.hpp"

namespace wireproof::cxl {
namespace {

constexpr std::byte control_bit{0x01};
constexpr std::byte ak_bit{0x08};
constexpr std::size_t code_at = 4;
constexpr std::size_t payload_at = 8;
constexpr std::size_t length_at = 1;
constexpr std::size_t message_at = 4;
constexpr std::byte training_symbol{0xBC};  // K28.5, the first symbol of ordered sets

// SubType in the upper half, LLCTRL in the lower half.
constexpr std::uint8_t llcrd_code = 0x10;
constexpr std::uint8_t idle_code = 0x01;
constexpr std::uint8_t request_code = 0x11;
constexpr std::uint8_t ack_code = 0x21;
constexpr std::uint8_t frame_code = 0x31;
constexpr std::uint8_t init_code = 0x8C;

std::uint32_t value_of(std::byte octet) {
    return std::to_integer<std::uint32_t>(octet);
}

// CXL-15
FlitBytes control_flit(std::uint8_t code, std::uint64_t payload, bool ak = false) {
    FlitBytes data{};
    data[0] = ak ? control_bit | ak_bit : control_bit;
    data[code_at] = static_cast<std::byte>(code);
    store_le<std::uint64_t>(std::span(data).subspan<payload_at, 8>(), payload);
    return data;
}

std::uint64_t payload_of(FlitData data) {
    return load_le<std::uint64_t>(data.subspan<payload_at, 8>());
}

std::uint32_t field(std::uint64_t word, unsigned lowest, unsigned bits) {
    return static_cast<std::uint32_t>((word >> lowest) & ((1U << bits) - 1));
}

}  // namespace

// CXL-15
FlitBytes message_flit(ConstBytes message, bool acknowledges) {
    WIREPROOF_CHECK(message.size() <= message_room);
    FlitBytes data{};
    if (acknowledges) data[0] = ak_bit;
    data[length_at] = static_cast<std::byte>(message.size());
    std::copy(message.begin(), message.end(), data.begin() + message_at);
    return data;
}

// CXL-18: the Ak bit of byte 0 is bit 3 of the count.
FlitBytes llcrd_flit(std::uint32_t acks) {
    WIREPROOF_CHECK(acks <= acks_max);
    return control_flit(llcrd_code, acks & 0xF7, (acks & acks_of_ak) != 0);
}

FlitBytes init_flit(std::uint32_t wrap) {
    constexpr std::uint64_t version = 1;
    return control_flit(init_code, version | std::uint64_t{wrap & 0xFF} << 24);
}

FlitBytes idle_flit() {
    return control_flit(idle_code, 0);
}

FlitBytes frame_flit() {
    return control_flit(frame_code, 0);
}

FlitBytes RetryRequest::encode() const {
    return control_flit(request_code, std::uint64_t{eseq & 0xFF} |
                                          std::uint64_t{num_retry & 0x1F} << 16 |
                                          std::uint64_t{num_phy_reinit & 0x1F} << 21);
}

RetryRequest RetryRequest::decode(FlitData from) {
    const std::uint64_t word = payload_of(from);
    return {field(word, 0, 8), field(word, 16, 5), field(word, 21, 5)};
}

FlitBytes RetryAck::encode() const {
    return control_flit(
        ack_code, std::uint64_t{empty} | std::uint64_t{viral} << 1 |
                      std::uint64_t{num_retry & 0x1F} << 3 | std::uint64_t{wr_ptr & 0xFF} << 8 |
                      std::uint64_t{eseq & 0xFF} << 16 | std::uint64_t{num_free_buf & 0xFF} << 24);
}

RetryAck RetryAck::decode(FlitData from) {
    const std::uint64_t word = payload_of(from);
    return {field(word, 0, 1) != 0, field(word, 1, 1) != 0, field(word, 3, 5),
            field(word, 8, 8),      field(word, 16, 8),     field(word, 24, 8)};
}

FlitKind kind_of(FlitData data) {
    if ((data[0] & control_bit) == std::byte{0}) return FlitKind::message;
    switch (value_of(data[code_at])) {
        case llcrd_code: return FlitKind::llcrd;
        case idle_code: return FlitKind::idle;
        case request_code: return FlitKind::request;
        case ack_code: return FlitKind::ack;
        case frame_code: return FlitKind::frame;
        case init_code: return FlitKind::init;
        default: return FlitKind::unknown;
    }
}

std::uint32_t acks_in(FlitData data) {
    const std::uint32_t ak = (data[0] & ak_bit) != std::byte{0} ? acks_of_ak : 0;
    switch (kind_of(data)) {
        case FlitKind::message: return ak;
        case FlitKind::llcrd: return (field(payload_of(data), 0, 8) & 0xF7) | ak;
        default: return 0;
    }
}

std::optional<ConstBytes> message_in(FlitData data) {
    const std::uint32_t length = value_of(data[length_at]);
    if (length > message_room) return std::nullopt;
    return ConstBytes(data).subspan(message_at, length);
}

std::uint32_t wrap_in(FlitData data) {
    return field(payload_of(data), 24, 8);
}

void write_flit(FlitData data, bool checks, std::span<std::byte, flit_size> to) {
    store_le<std::uint16_t>(to.first<2>(), protocol_id);
    std::copy(data.begin(), data.end(), to.begin() + 2);
    store_le<std::uint16_t>(to.last<2>(), checks ? flit_crc(data) : std::uint16_t{0});
}

std::optional<FlitData> read_flit(const RxFrame& frame) {
    if (frame.integrity == Integrity::damaged) return std::nullopt;
    if (frame.bytes.size() != flit_size || !frame.lent.empty()) return std::nullopt;
    const auto bytes = frame.bytes.first<flit_size>();
    if (load_le<std::uint16_t>(bytes.first<2>()) != protocol_id) return std::nullopt;
    const FlitData data = bytes.subspan<2, data_size>();
    if (frame.integrity == Integrity::check &&
        load_le<std::uint16_t>(bytes.last<2>()) != flit_crc(data)) {
        return std::nullopt;
    }
    return data;
}

void TrainingSet::encode(std::span<std::byte, size> to) const {
    to[0] = training_symbol;
    to[1] = static_cast<std::byte>((fresh ? 1U : 0U) | (heard ? 2U : 0U) | (done ? 4U : 0U) |
                                   (down ? 8U : 0U));
    to[2] = static_cast<std::byte>(own);
    to[3] = static_cast<std::byte>(peers);
    store_le<std::uint32_t>(to.last<4>(), Crc32c::of(to.first<4>()));
}

std::optional<TrainingSet> TrainingSet::decode(ConstBytes from) {
    if (from.size() != size || from[0] != training_symbol) return std::nullopt;
    if (load_le<std::uint32_t>(from.last<4>()) != Crc32c::of(from.first<4>())) return std::nullopt;
    const std::uint32_t flags = value_of(from[1]);
    if (flags > 15) return std::nullopt;
    return TrainingSet{.fresh = (flags & 1) != 0,
                       .heard = (flags & 2) != 0,
                       .done = (flags & 4) != 0,
                       .own = static_cast<std::uint8_t>(from[2]),
                       .peers = static_cast<std::uint8_t>(from[3]),
                       .down = (flags & 8) != 0};
}

FrameInfo describe(ConstBytes frame) {
    FrameInfo info;
    info.length = frame.size();
    if (TrainingSet::decode(frame)) {
        info.kind = "training";
        return info;
    }
    const auto data = read_flit({.bytes = frame, .integrity = Integrity::intact});
    if (!data) return info;
    switch (kind_of(*data)) {
        case FlitKind::message: info.kind = "data"; break;
        case FlitKind::llcrd: info.kind = "LLCRD"; break;
        case FlitKind::idle: info.kind = "RETRY.Idle"; break;
        case FlitKind::request:
            info.kind = "RETRY.Req";
            info.number = RetryRequest::decode(*data).eseq;
            break;
        case FlitKind::ack:
            info.kind = "RETRY.Ack";
            info.number = RetryAck::decode(*data).eseq;
            break;
        case FlitKind::frame: info.kind = "RETRY.Frame"; break;
        case FlitKind::init: info.kind = "INIT.Param"; break;
        case FlitKind::unknown: info.kind = "control"; break;
    }
    if (const std::uint32_t acks = acks_in(*data); acks > 0) info.ack = acks;
    return info;
}

}  // namespace wireproof::cxl
