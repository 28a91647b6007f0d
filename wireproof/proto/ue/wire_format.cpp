#include "wireproof/proto/ue/wire_format.hpp"

#include <algorithm>
#include <array>

#include "wireproof/base/crc.hpp"

namespace wireproof::ue {
namespace {

constexpr std::byte filler{0x55};
constexpr std::byte last_of_preamble{0xD5};
constexpr std::uint32_t mark = 0x7;      // in a preamble with a number
constexpr std::uint32_t ctl_mark = 0x6;  // the O code of LLR
constexpr std::size_t type_at = 20;      // after preamble, destination and source
constexpr std::array frame_type{std::byte{0x88}, std::byte{0xB5}};
// A locally administered address. A link has only two ends, and no end looks at addresses.
constexpr std::array address{std::byte{0x02}, std::byte{0x00}, std::byte{0x00},
                             std::byte{0x00}, std::byte{0x00}, std::byte{0x00}};

std::byte octet(std::uint32_t value) {
    return static_cast<std::byte>(value & 0xFF);
}

std::uint32_t value_of(std::byte octet) {
    return std::to_integer<std::uint32_t>(octet);
}

std::uint32_t crc_of(ConstBytes bytes) {
    Crc32 crc;
    crc.add(bytes);
    return crc.value();
}

}  // namespace

// LLR-25
void Preamble::encode(std::span<std::byte, preamble_size> to, PreambleOrder order) const {
    std::fill(to.begin(), to.end(), filler);
    to[0] = start_byte;
    to[7] = last_of_preamble;
    if (!number) return;
    if (order == PreambleOrder::low_first) {
        to[1] = octet((*number & 0xF) << 4 | mark);
        to[2] = octet(*number >> 4);
        to[3] = octet(*number >> 12);
        return;
    }
    const std::uint32_t high = (*number >> 16) & 0xF;
    to[1] = octet(order == PreambleOrder::number_first ? high << 4 | mark : mark << 4 | high);
    to[2] = octet(*number >> 8);
    to[3] = octet(*number);
}

std::optional<Preamble> Preamble::decode(std::span<const std::byte, preamble_size> from,
                                         PreambleOrder order) {
    if (from[0] != start_byte || from[7] != last_of_preamble) return std::nullopt;
    if (!std::all_of(from.begin() + 4, from.begin() + 7, [](std::byte b) { return b == filler; })) {
        return std::nullopt;
    }
    if (from[1] == filler) {
        return from[2] == filler && from[3] == filler ? std::optional<Preamble>(Preamble{})
                                                      : std::nullopt;
    }
    const std::uint32_t first = value_of(from[1]);
    const bool mark_first = order == PreambleOrder::mark_first;
    if ((mark_first ? first >> 4 : first & 0xF) != mark) return std::nullopt;
    const std::uint32_t nibble = mark_first ? first & 0xF : first >> 4;
    if (order == PreambleOrder::low_first) {
        return Preamble{value_of(from[3]) << 12 | value_of(from[2]) << 4 | nibble};
    }
    return Preamble{nibble << 16 | value_of(from[2]) << 8 | value_of(from[3])};
}

void FrameHead::encode(std::span<std::byte, size> to, PreambleOrder order) const {
    preamble.encode(to.first<preamble_size>(), order);
    std::copy(address.begin(), address.end(), to.begin() + preamble_size);
    std::copy(address.begin(), address.end(), to.begin() + preamble_size + address.size());
    std::copy(frame_type.begin(), frame_type.end(), to.begin() + type_at);
    to[22] = octet(static_cast<std::uint32_t>(length) >> 8);
    to[23] = octet(static_cast<std::uint32_t>(length));
}

std::optional<std::size_t> FrameHead::decode_length(std::span<const std::byte, size> from) {
    if (!std::equal(frame_type.begin(), frame_type.end(), from.begin() + type_at)) {
        return std::nullopt;
    }
    return value_of(from[22]) << 8 | value_of(from[23]);
}

std::optional<FramePieces> FramePieces::of(const RxFrame& frame) {
    if (frame.bytes.size() < frame_overhead) return std::nullopt;
    const auto head = frame.bytes.first<FrameHead::size>();
    const auto tail = frame.bytes.last<4>();
    const ConstBytes between =
        frame.bytes.subspan(FrameHead::size, frame.bytes.size() - frame_overhead);
    if (frame.lent.empty()) return FramePieces{head, between, {}, tail};
    return FramePieces{head, frame.lent, between, tail};
}

// LLR-33, LLR-38
std::uint32_t FramePieces::computed_fcs(bool with_preamble) const {
    Crc32 crc;
    if (with_preamble) crc.add(head.first<preamble_size>());
    crc.add(head.subspan<preamble_size>());
    crc.add(data);
    crc.add(pad);
    return crc.value();
}

void encode_tail(std::span<const std::byte, FrameHead::size> head, ConstBytes data, Bytes to,
                 const FcsTerms& terms) {
    const Bytes pad = to.first(to.size() - 4);
    const auto tail = to.last<4>();
    std::fill(pad.begin(), pad.end(), std::byte{0});
    const FramePieces frame{head, data, pad, tail};
    const std::uint32_t fcs = terms.computed ? frame.computed_fcs(terms.with_preamble) : 0;
    store_le<std::uint32_t>(tail, fcs ^ terms.poison);
}

// LLR-26
void CtlOs::encode(std::span<std::byte, size> to, NibbleOrder order) const {
    std::fill(to.begin(), to.end(), std::byte{0});
    to[0] = ctl_byte;
    to[1] = static_cast<std::byte>(type);
    to[2] = octet(number >> 12);
    to[3] = octet(number >> 4);
    const std::uint32_t low = number & 0xF;
    to[4] = octet(order == NibbleOrder::number_high ? low << 4 | ctl_mark : ctl_mark << 4 | low);
    if (type != CtlType::init && type != CtlType::init_echo) return;
    to[5] = octet(init_data);
    to[6] = octet(std::uint32_t{init_data} >> 8);
}

std::optional<CtlOs> CtlOs::decode(std::span<const std::byte, size> from, NibbleOrder order) {
    if (from[0] != ctl_byte || from[7] != std::byte{0}) return std::nullopt;
    const auto type = static_cast<CtlType>(from[1]);
    if (type == CtlType::cf_update) return CtlOs{type};
    if (type < CtlType::ack || type > CtlType::init_echo) return std::nullopt;
    const std::uint32_t shared = value_of(from[4]);
    const bool high = order == NibbleOrder::number_high;
    if ((high ? shared & 0xF : shared >> 4) != ctl_mark) return std::nullopt;
    CtlOs ctl{type, value_of(from[2]) << 12 | value_of(from[3]) << 4 |
                        (high ? shared >> 4 : shared & 0xF)};
    ctl.init_data = load_le<std::uint16_t>(from.subspan<5, 2>());
    const bool has_data = type == CtlType::init || type == CtlType::init_echo;
    if (!has_data && ctl.init_data != 0) return std::nullopt;
    return ctl;
}

void CtlOs::write(const Config& config, TxFrame& out) const {
    const auto to = out.add_header<size>();
    encode(to, config.ctl_nibbles);
    if (!config.checks_numbers) return;
    const std::uint32_t check = out.wants_check() ? crc_of(to) : 0;
    store_le<std::uint32_t>(out.add_header<checked_size - size>(), check);
}

std::optional<CtlOs> CtlOs::read(const Config& config, const RxFrame& frame) {
    if (frame.integrity == Integrity::damaged) return std::nullopt;
    if (frame.bytes.size() != (config.checks_numbers ? checked_size : size)) return std::nullopt;
    const auto from = frame.bytes.first<size>();
    if (config.checks_numbers && frame.integrity == Integrity::check &&
        load_le<std::uint32_t>(frame.bytes.last<checked_size - size>()) != crc_of(from)) {
        return std::nullopt;
    }
    return decode(from, config.ctl_nibbles);
}

FrameInfo describe(ConstBytes frame) {
    FrameInfo info;
    info.length = frame.size();
    if (starts_with(frame, start_byte) && frame.size() >= preamble_size) {
        const auto preamble =
            Preamble::decode(frame.first<preamble_size>(), PreambleOrder::number_first);
        if (!preamble) return info;
        info.kind = preamble->number ? "FRAME" : "PLAIN";
        info.number = preamble->number;
        return info;
    }
    const bool whole = frame.size() == CtlOs::size || frame.size() == CtlOs::checked_size;
    if (!starts_with(frame, ctl_byte) || !whole) return info;
    const auto ctl = CtlOs::decode(frame.first<CtlOs::size>(), NibbleOrder::number_high);
    if (!ctl) return info;
    switch (ctl->type) {
        case CtlType::ack: info.kind = "ACK"; break;
        case CtlType::nack: info.kind = "NACK"; break;
        case CtlType::init: info.kind = "INIT"; break;
        case CtlType::init_echo: info.kind = "INIT_ECHO"; break;
        case CtlType::cf_update: info.kind = "CF_UPDATE"; return info;
    }
    info.number = ctl->number;
    return info;
}

}  // namespace wireproof::ue
