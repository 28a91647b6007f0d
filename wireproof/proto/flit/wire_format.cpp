#include "wireproof/proto/flit/wire_format.hpp"

#include <algorithm>
#include <cstring>

#include "wireproof/proto/flit/ecc.hpp"
#include "wireproof/proto/flit/halves.hpp"

namespace wireproof::flit {
namespace {

constexpr std::size_t crc_covers = 242;
constexpr std::size_t ucie_half = 128;
constexpr std::size_t ucie_256_crc_at = 252;
constexpr std::size_t ucie_68_crc_at = 66;

std::uint32_t value_of(std::byte octet) {
    return std::to_integer<std::uint32_t>(octet);
}
std::byte octet(std::uint32_t value) {
    return static_cast<std::byte>(value & 0xFF);
}

void store_ucie_crc(std::span<std::byte, 2> to, ConstBytes covered, CrcOrder order) {
    store_le<std::uint16_t>(to, ucie_crc(covered, order));
}
bool ucie_crc_is(std::span<const std::byte, 2> from, ConstBytes covered, CrcOrder order) {
    return load_le<std::uint16_t>(from) == ucie_crc(covered, order);
}

std::uint64_t crc_in(ConstBytes flit) {
    std::uint64_t crc = 0;
    for (std::size_t i = 0; i < 8; ++i) crc = crc << 8 | value_of(flit[crc_covers + i]);
    return crc;
}

// Everything after the message: zeros, the length, and the header if it is behind the data.
void write_rest(Format format, const Shape& shape, const Header& header, std::size_t length,
                Bytes rest) {
    const std::size_t behind = shape.size - shape.data_end();
    std::memset(rest.data(), 0, rest.size());
    std::byte* const data_end = rest.data() + rest.size() - behind;
    data_end[-1] = octet(static_cast<std::uint32_t>(length));
    if (shape.header_at > 0) header.encode(format, data_end);
}

}  // namespace

// UCIE-7: the upper half of the number is in the first byte.
void Header::encode(Format format, std::byte* to) const {
    if (has_usage(format)) {
        to[0] = octet((payload ? 0x40U : 0U) | (prior_payload ? 0x20U : 0U) |
                      static_cast<std::uint32_t>(command) << 2 | number >> 8);
        to[1] = octet(number);
        return;
    }
    to[0] = octet((payload ? 0x40U : 0U) | number >> 4);
    to[1] = octet(static_cast<std::uint32_t>(command) << 4 | (number & 0xF));
}

// FLIT-1, FLIT-5: everything but the message is made anew for each transmission.
void write_flit(Format format, CrcOrder order, const Header& header, ConstBytes message,
                TxFrame& out) {
    if (format == Format::cxl_halves) return write_halves(order, header, message, out);
    const Shape shape = Shape::of(format);
    const std::size_t rest = shape.size - shape.data_at - message.size();
    if (!out.wants_check()) {
        if (shape.header_at == 0) header.encode(format, out.add_room(shape.header_size).data());
        if (!message.empty()) out.add_payload(message);
        write_rest(format, shape, header, message.size(), out.add_room(rest));
        return;
    }
    const Bytes flit = out.add_all(shape.size);
    if (shape.header_at == 0) header.encode(format, flit.data());
    std::copy(message.begin(), message.end(), flit.data() + shape.data_at);
    write_rest(format, shape, header, message.size(), flit.last(rest));
    write_checks(format, order, flit);
}

void write_checks(Format format, CrcOrder order, std::span<std::byte> flit) {
    switch (format) {
        case Format::pcie:
        case Format::cxl: {
            const std::uint64_t crc = flit_crc(flit.first(crc_covers), order);
            for (std::size_t i = 0; i < 8; ++i) {
                flit[crc_covers + i] = static_cast<std::byte>(crc >> (56 - 8 * i));
            }
            const auto ecc = flit_ecc(ConstBytes(flit).first<ecc_covers>());
            std::copy(ecc.begin(), ecc.end(), flit.begin() + ecc_covers);
            return;
        }
        case Format::ucie_68:  // UCIE-9
            store_ucie_crc(flit.last<2>(), flit.first(ucie_68_crc_at), order);
            return;
        case Format::ucie_256:
            store_ucie_crc(flit.subspan<ucie_256_crc_at, 2>(), flit.first(ucie_half), order);
            store_ucie_crc(flit.last<2>(), flit.subspan(ucie_half, ucie_256_crc_at - ucie_half),
                           order);
            return;
        case Format::cxl_halves: write_half_checks(order, flit.first<flit_max>()); return;
    }
}

bool crc_matches(Format format, CrcOrder order, ConstBytes flit) {
    switch (format) {
        case Format::pcie:
        case Format::cxl: return crc_in(flit) == flit_crc(flit.first(crc_covers), order);
        case Format::ucie_68: return ucie_crc_is(flit.last<2>(), flit.first(ucie_68_crc_at), order);
        case Format::ucie_256:
            return ucie_crc_is(flit.subspan<ucie_256_crc_at, 2>(), flit.first(ucie_half), order) &&
                   ucie_crc_is(flit.last<2>(), flit.subspan(ucie_half, ucie_256_crc_at - ucie_half),
                               order);
        case Format::cxl_halves: break;
    }
    WIREPROOF_CHECK(false);
    return false;
}

namespace {

FrameInfo describe_as(Format format, ConstBytes frame) {
    constexpr std::string_view payload_names[] = {"payload", "payload", "payload+Nak",
                                                  "payload+SNak"};
    constexpr std::string_view nop_names[] = {"NOP", "NOP", "NOP+Nak", "NOP+SNak"};
    const Shape shape = Shape::of(format);
    const std::size_t behind = shape.size - shape.data_end();
    FrameInfo info;
    info.length = frame.size();
    if (frame.size() > shape.size || frame.size() < shape.data_at + length_size + behind) {
        return info;
    }
    const std::byte* const at =
        shape.header_at == 0 ? frame.data() : frame.data() + frame.size() - behind;
    const auto header = Header::decode(format, at);
    if (!header) return info;
    const auto command = static_cast<std::size_t>(header->command);
    info.kind = header->payload ? payload_names[command] : nop_names[command];
    if (header->idle()) {
        info.kind = "IDLE";
    } else if (header->command == Command::explicit_number) {
        info.number = header->number;
    } else {
        info.ack = header->number;
    }
    return info;
}

}  // namespace

FrameInfo describe(ConstBytes frame) {
    return describe_as(Format::pcie, frame);
}
FrameInfo describe_cxl(ConstBytes frame) {
    return describe_as(Format::cxl, frame);
}
FrameInfo describe_ucie_68(ConstBytes frame) {
    return describe_as(Format::ucie_68, frame);
}
FrameInfo describe_ucie_256(ConstBytes frame) {
    return describe_as(Format::ucie_256, frame);
}

Describe describe_of(Format format) {
    switch (format) {
        case Format::pcie: return describe;
        case Format::cxl:
        case Format::cxl_halves: return describe_cxl;
        case Format::ucie_68: return describe_ucie_68;
        case Format::ucie_256: return describe_ucie_256;
    }
    return describe_nothing;
}

}  // namespace wireproof::flit
