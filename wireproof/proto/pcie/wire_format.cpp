#include "wireproof/proto/pcie/wire_format.hpp"

#include <algorithm>
#include <array>

#include "wireproof/base/crc.hpp"

namespace wireproof::pcie {
namespace {

constexpr std::size_t header_at = 3;  // after STP and the number
constexpr std::size_t header_size = 16;

// Fmt and Type of a memory write and of a deferrable memory write. Both have a header of four
// double words, and data.
constexpr std::byte memory_write{0x60};
constexpr std::byte deferrable_write{0x7B};

std::byte octet(std::uint32_t value) {
    return static_cast<std::byte>(value & 0xFF);
}

std::uint32_t value_of(std::byte octet) {
    return std::to_integer<std::uint32_t>(octet);
}

std::byte enables(std::size_t bytes) {
    return static_cast<std::byte>((1U << bytes) - 1);
}

// The number of enabled bytes for each value of the four byte enables. scattered (9): the enabled
// bytes are not the first ones.
constexpr std::size_t scattered = 9;
constexpr std::array<std::uint8_t, 16> enabled = {0, 1, 9, 2, 9, 9, 9, 3, 9, 9, 9, 9, 9, 9, 9, 4};

// The ECRC counts bits that may change on the way as ones: the lowest bit of Type, and EP.
std::uint32_t ecrc(std::span<const std::byte, TlpHead::size> head, ConstBytes data,
                   ConstBytes padding) {
    std::array<std::byte, header_size> header;
    std::copy(head.begin() + header_at, head.end(), header.begin());
    header[0] |= std::byte{0x01};
    header[2] |= std::byte{0x40};
    Crc32 crc;
    crc.add(header);
    crc.add(data);
    crc.add(padding);
    return crc.value();
}

constexpr std::array<std::string_view, 3> init1_names = {"InitFC1-P", "InitFC1-NP", "InitFC1-Cpl"};
constexpr std::array<std::string_view, 3> init2_names = {"InitFC2-P", "InitFC2-NP", "InitFC2-Cpl"};
constexpr std::array<std::string_view, 3> update_names = {"UpdateFC-P", "UpdateFC-NP",
                                                          "UpdateFC-Cpl"};

}  // namespace

// Four double words, big-endian: Fmt 3, Type 5 | TC, attributes | TD, EP, AT, length 10;
// requester 16 | tag 8 | last enables 4, first enables 4; address 64. TD says that an ECRC follows.
void TlpHead::encode(std::span<std::byte, size> to) const {
    const std::size_t words = std::max<std::size_t>(1, (length + 3) / 4);
    const std::size_t in_last = length == 0 ? 0 : (length - 1) % 4 + 1;
    std::fill(to.begin(), to.end(), std::byte{0});
    to[0] = static_cast<std::byte>(Symbol::stp);
    to[1] = octet((number >> 8) & 0xF);
    to[2] = octet(number);
    to[3] = type == FlowType::non_posted ? deferrable_write : memory_write;
    to[5] = std::byte{0x80} | octet((words >> 8) & 0x3);
    to[6] = octet(static_cast<std::uint32_t>(words));
    to[10] = words == 1 ? enables(in_last) : (enables(in_last) << 4) | std::byte{0x0F};
}

std::optional<TlpHead> TlpHead::decode(std::span<const std::byte, size> from) {
    TlpHead head;
    head.number = (value_of(from[1]) & 0xF) << 8 | value_of(from[2]);
    if (from[3] == deferrable_write) {
        head.type = FlowType::non_posted;
    } else if (from[3] != memory_write) {
        return std::nullopt;
    }
    if ((from[5] & std::byte{0x80}) == std::byte{0}) return std::nullopt;
    std::size_t words = (value_of(from[5]) & 0x3) << 8 | value_of(from[6]);
    if (words == 0) words = 1024;
    const std::size_t first = enabled[value_of(from[10]) & 0xF];
    const std::size_t last = enabled[value_of(from[10]) >> 4];
    if (first == scattered || last == scattered) return std::nullopt;
    if (words == 1) {
        if (last != 0) return std::nullopt;
        head.length = first;
    } else {
        if (first != 4 || last == 0) return std::nullopt;
        head.length = 4 * (words - 1) + last;
    }
    return head;
}

std::optional<TlpPieces> TlpPieces::of(const RxFrame& frame) {
    if (frame.bytes.size() < TlpHead::size + TlpTail::size) return std::nullopt;
    const auto head = frame.bytes.first<TlpHead::size>();
    const auto tail = frame.bytes.last<TlpTail::size>();
    const ConstBytes between =
        frame.bytes.subspan(TlpHead::size, frame.bytes.size() - TlpHead::size - TlpTail::size);
    if (frame.lent.empty()) return TlpPieces{head, between, {}, tail};
    return TlpPieces{head, frame.lent, between, tail};
}

std::uint32_t TlpPieces::number() const {
    return (value_of(head[1]) & 0xF) << 8 | value_of(head[2]);
}

// PCIE-1, PCIE-2: the LCRC covers everything except the framing symbols and itself.
std::uint32_t TlpPieces::computed_lcrc() const {
    Crc32 crc;
    crc.add(head.subspan<1>());
    crc.add(data);
    crc.add(padding);
    crc.add(tail.first<4>());
    return crc.value();
}

std::uint32_t TlpPieces::stored_lcrc() const {
    return load_le<std::uint32_t>(tail.subspan<4, 4>());
}

bool TlpPieces::ends_bad() const {
    return tail[8] == static_cast<std::byte>(Symbol::edb);
}

bool TlpPieces::ends_good() const {
    return tail[8] == static_cast<std::byte>(Symbol::end);
}

bool TlpPieces::ecrc_matches() const {
    return load_le<std::uint32_t>(tail.first<4>()) == ecrc(head, data, padding);
}

void encode_tail(std::span<const std::byte, TlpHead::size> head, ConstBytes data, Bytes to,
                 bool nullified, bool checks) {
    const Bytes padding = to.first(to.size() - TlpTail::size);
    const auto tail = to.last<TlpTail::size>();
    std::fill(to.begin(), to.end(), std::byte{0});
    tail[8] = static_cast<std::byte>(nullified ? Symbol::edb : Symbol::end);
    if (!checks) return;
    store_le<std::uint32_t>(tail.first<4>(), ecrc(head, data, padding));
    const std::uint32_t lcrc = TlpPieces{head, data, padding, tail}.computed_lcrc();
    store_le<std::uint32_t>(tail.subspan<4, 4>(), nullified ? ~lcrc : lcrc);
}

// The body: HdrScale 2 bits, HdrFC 8, DataScale 2, DataFC 12. The scales are not used.
Dllp Dllp::flow_control(DllpKind kind, FlowType type, Credits credits) {
    const auto code = static_cast<std::uint32_t>(kind) | static_cast<std::uint32_t>(type) << 4;
    return {code << 24 | (credits.headers & 0xFF) << 14 | (credits.data & 0xFFF)};
}

std::optional<DllpKind> Dllp::flow_control_kind() const {
    if ((type() & 0x0F) != 0 || (type() & 0x30) == 0x30) return std::nullopt;
    switch (type() & 0xC0) {
        case 0x40: return DllpKind::init_fc1;
        case 0xC0: return DllpKind::init_fc2;
        case 0x80: return DllpKind::update_fc;
        default: return std::nullopt;
    }
}

// PCIE-1
void Dllp::encode(std::span<std::byte, size> to, bool check) const {
    to[0] = static_cast<std::byte>(Symbol::sdp);
    for (std::size_t i = 0; i < 4; ++i) to[1 + i] = octet(word >> (24 - 8 * i));
    store_le<std::uint16_t>(to.subspan<5, 2>(),
                            check ? Crc16Iba::of(to.subspan<1, 4>()) : std::uint16_t{0});
    to[7] = static_cast<std::byte>(Symbol::end);
}

std::optional<Dllp> Dllp::decode(std::span<const std::byte, size> from, bool check) {
    if (from[0] != static_cast<std::byte>(Symbol::sdp)) return std::nullopt;
    if (from[7] != static_cast<std::byte>(Symbol::end)) return std::nullopt;
    // PCIE-2
    if (check && load_le<std::uint16_t>(from.subspan<5, 2>()) != Crc16Iba::of(from.subspan<1, 4>()))
        return std::nullopt;
    return Dllp{value_of(from[1]) << 24 | value_of(from[2]) << 16 | value_of(from[3]) << 8 |
                value_of(from[4])};
}

FrameInfo describe(ConstBytes frame) {
    FrameInfo info;
    info.length = frame.size();
    if (starts_with(frame, Symbol::stp) && frame.size() >= TlpHead::size) {
        const bool bad = frame.back() == static_cast<std::byte>(Symbol::edb);
        info.kind = bad ? "nullified TLP" : "TLP";
        info.number = (value_of(frame[1]) & 0xF) << 8 | value_of(frame[2]);
        return info;
    }
    if (!starts_with(frame, Symbol::sdp) || frame.size() != Dllp::size) return info;
    const auto dllp = Dllp::decode(frame.first<Dllp::size>(), false);
    if (!dllp) return info;
    info.kind = "DLLP";
    if (dllp->is_ack() || dllp->is_nak()) {
        info.kind = dllp->is_ack() ? "Ack" : "Nak";
        info.number = dllp->number();
    } else if (const auto kind = dllp->flow_control_kind()) {
        const auto& names = *kind == DllpKind::init_fc1   ? init1_names
                            : *kind == DllpKind::init_fc2 ? init2_names
                                                          : update_names;
        info.kind = names[static_cast<std::size_t>(dllp->flow_type())];
    }
    return info;
}

}  // namespace wireproof::pcie
