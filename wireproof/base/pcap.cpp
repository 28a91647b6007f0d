#include "wireproof/base/pcap.hpp"

#include <algorithm>
#include <utility>

#include "wireproof/base/pcapng_blocks.hpp"

namespace wireproof {
namespace {

using Next = Expected<std::optional<CapturedPacket>>;

// The first four bytes of a file, read as little-endian.
constexpr std::uint32_t pcap_microseconds = 0xA1B2C3D4;
constexpr std::uint32_t pcap_nanoseconds = 0xA1B23C4D;
constexpr std::uint32_t pcap_modified =
    0xA1B2CD34;  // microseconds; written by old patches of libpcap

constexpr std::uint32_t obsolete_packet_block = 2;
constexpr std::uint32_t simple_packet_block = 3;

constexpr std::size_t pcap_header = 24;
constexpr std::size_t record_header = 16;
constexpr std::size_t modified_record_header = 24;  // also interface, protocol, type, pad
constexpr std::size_t block_frame = 12;             // type, length, length again

// The reader accepts packets up to this length even if the file states a smaller limit. It is the
// limit of libpcap itself.
constexpr std::uint32_t packet_limit = 262'144;
// A larger length counts as damage, so the reader does not allocate memory for it.
constexpr std::uint32_t block_limit = 16 << 20;
constexpr std::size_t window_size = 64 << 10;

constexpr std::uint64_t second = 1'000'000'000;  // in nanoseconds

constexpr std::uint32_t swapped(std::uint32_t word) {
    return word >> 24 | (word >> 8 & 0xFF00) | (word << 8 & 0xFF0000) | word << 24;
}

std::string number(std::uint64_t value) {
    return std::to_string(value);
}

/// Converts ticks of any length to nanoseconds. The result wraps at 64 bits.
std::uint64_t nanoseconds(std::uint64_t ticks, std::uint64_t per_second) {
    const std::uint64_t rest = ticks % per_second;
    // If the clock is fast, rest * 10^9 may not fit in 64 bits.
    const std::uint64_t part =
        per_second <= second ? rest * second / per_second
                             : static_cast<std::uint64_t>(static_cast<double>(rest) /
                                                          static_cast<double>(per_second) * 1e9);
    return ticks / per_second * second + part;
}

}  // namespace

CaptureReader::CaptureReader(Read read) : read_(std::move(read)) {}

Next CaptureReader::next() {
    if (format_ == Format::unknown && !failed_) {
        if (const auto header = read_file_header(); !header) {
            failed_ = true;
            return tl::unexpected(header.error());
        }
    }
    auto packet = format_ == Format::pcapng ? next_in_blocks() : next_record();
    if (!packet) failed_ = true;
    return packet;
}

Expected<void> CaptureReader::read_file_header() {
    const auto magic = peek(4);
    const std::uint32_t word = magic ? load_le<std::uint32_t>(magic->first<4>()) : 0;
    if (word == pcapng::section_header) {
        format_ = Format::pcapng;
        return {};
    }
    const auto known = [](std::uint32_t first) {
        return first == pcap_microseconds || first == pcap_nanoseconds || first == pcap_modified;
    };
    big_endian_ = known(swapped(word));
    const std::uint32_t meant = big_endian_ ? swapped(word) : word;
    if (!known(meant)) return unexpected("neither a pcap nor a pcapng file");
    record_header_size_ = meant == pcap_modified ? modified_record_header : record_header;
    const auto header = peek(pcap_header);
    if (!header) return unexpected("the pcap file header is cut short");
    if (word_16(*header, 4) != 2) {
        return unexpected("pcap version " + number(word_16(*header, 4)) + " is unknown");
    }
    format_ = Format::pcap;
    interfaces_ = {{.link_type = word_16(*header, big_endian_ ? 22 : 20),
                    .snap_length = word_32(*header, 16),
                    .ticks_per_second = meant == pcap_nanoseconds ? second : 1'000'000}};
    skip(pcap_header);
    return {};
}

// Record header: seconds, fraction, bytes captured, bytes on the wire.
Next CaptureReader::next_record() {
    if (at_end()) return std::nullopt;
    const auto header = peek(record_header_size_);
    if (!header) return cut("its record header", record_header_size_);
    const Interface& file = interfaces_.front();
    const std::uint64_t fraction = word_32(*header, 4);
    const std::uint32_t captured = word_32(*header, 8);
    CapturedPacket packet{.number = packets_ + 1, .link_type = file.link_type};
    packet.length = word_32(*header, 12);
    packet.time_above_unit = fraction >= file.ticks_per_second;
    if (!packet.time_above_unit) {
        packet.time = word_32(*header, 0) * second + nanoseconds(fraction, file.ticks_per_second);
    }
    if (captured > std::max(std::min(file.snap_length, block_limit), packet_limit)) {
        return wrong("it claims " + number(captured) + " bytes; the file is damaged");
    }
    skip(record_header_size_);
    const auto bytes = peek(captured);
    if (!bytes) return cut("its data", captured);
    packet.bytes = *bytes;
    skip(captured);
    ++packets_;
    return packet;
}

Next CaptureReader::next_in_blocks() {
    const auto some = [](Expected<CapturedPacket> packet) -> Next {
        if (!packet) return tl::unexpected(packet.error());
        return *packet;
    };
    while (!at_end()) {
        const auto block = read_block();
        if (!block) return tl::unexpected(block.error());
        switch (block->type) {
            case pcapng::enhanced_packet: return some(enhanced_packet(block->body));
            case obsolete_packet_block: return some(obsolete_packet(block->body));
            case simple_packet_block: return some(simple_packet(block->body));
            case pcapng::interface_description:
                if (const auto added = add_interface(block->body); !added) {
                    return tl::unexpected(added.error());
                }
                break;
            case pcapng::section_header: read_application(block->body); break;
            default: break;  // names, statistics, blocks that others define
        }
    }
    return std::nullopt;
}

//   0      4                8            length - 4       length
//  | type | total length   | body       | the same again  |        all in multiples of 4
Expected<CaptureReader::Block> CaptureReader::read_block() {
    const auto head = peek(block_frame);
    if (!head) return cut("a block", block_frame);
    if (load_le<std::uint32_t>(head->first<4>()) == pcapng::section_header) {
        if (const auto begun = begin_section(*head); !begun) return tl::unexpected(begun.error());
    }
    const std::uint32_t type = word_32(*head, 0);
    const std::uint32_t length = word_32(*head, 4);
    if (length < block_frame || length % 4 != 0 || length > block_limit) {
        return wrong("a block claims " + number(length) + " bytes; the file is damaged");
    }
    const auto block = peek(length);
    if (!block) return cut("a block", length);
    if (word_32(*block, length - 4) != length) {
        return wrong("a block's two lengths differ; the file is damaged");
    }
    skip(length);
    return Block{type, block->subspan(8, length - block_frame)};
}

// Each section may have another byte order, and interfaces count from 0 again.
Expected<void> CaptureReader::begin_section(ConstBytes first) {
    const auto magic = load_le<std::uint32_t>(first.subspan(8).first<4>());
    if (magic != pcapng::byte_order_magic && swapped(magic) != pcapng::byte_order_magic) {
        return wrong("a section does not say its byte order; the file is damaged");
    }
    big_endian_ = magic != pcapng::byte_order_magic;
    interfaces_.clear();
    return {};
}

// Body: byte order, version and length of the section, options.
void CaptureReader::read_application(ConstBytes body) {
    constexpr std::size_t fixed = 16;
    application_ =
        option_in(body.subspan(std::min(body.size(), fixed)), pcapng::option_application);
}

// Body: link type (16 bits), reserved (16), limit of a packet (32), options.
Expected<void> CaptureReader::add_interface(ConstBytes body) {
    if (body.size() < 8) return wrong("an interface description is too short");
    Interface interface { .link_type = word_16(body, 0), .snap_length = word_32(body, 4) };
    for (ConstBytes options = body.subspan(8); options.size() >= 4;) {
        const std::uint16_t code = word_16(options, 0);
        const std::size_t size = word_16(options, 2);
        if (code == 0) break;
        if (size > options.size() - 4) return wrong("an option of an interface is cut short");
        auto read = read_option(interface, code, options.subspan(4, size));
        if (!read) return read;
        options = options.subspan(std::min(options.size(), 4 + (size + 3) / 4 * 4));
    }
    interfaces_.push_back(interface);
    return {};
}

Expected<void> CaptureReader::read_option(Interface& to, std::uint16_t code,
                                          ConstBytes value) const {
    constexpr std::uint16_t if_tsresol = 9;
    constexpr std::uint16_t if_tsoffset = 14;
    if (code == if_tsresol && value.size() == 1) {
        const auto power = std::to_integer<unsigned>(value[0] & std::byte{0x7F});
        const bool of_two = (value[0] & std::byte{0x80}) != std::byte{0};
        if (power > (of_two ? 63U : 19U)) return wrong("an interface counts time too finely");
        to.ticks_per_second = 1;
        for (unsigned i = 0; i < power; ++i) to.ticks_per_second *= of_two ? 2 : 10;
    } else if (code == if_tsoffset && value.size() == 8) {
        const std::uint64_t first = word_32(value, 0);
        const std::uint64_t second_half = word_32(value, 4);
        to.offset_seconds = big_endian_ ? first << 32 | second_half : second_half << 32 | first;
    }
    return {};
}

std::uint64_t CaptureReader::time_of(std::uint64_t ticks, const Interface& interface) {
    return nanoseconds(ticks, interface.ticks_per_second) + interface.offset_seconds * second;
}

// Body: interface, time in two halves, bytes captured, bytes on the wire.
Expected<CapturedPacket> CaptureReader::enhanced_packet(ConstBytes body) {
    if (body.size() < 20) return wrong("its block is too short");
    const std::uint64_t ticks = std::uint64_t{word_32(body, 4)} << 32 | word_32(body, 8);
    auto packet =
        packet_in(body.subspan(20), word_32(body, 0), word_32(body, 12), word_32(body, 16));
    if (!packet) return packet;
    packet->time = time_of(ticks, interfaces_[word_32(body, 0)]);
    const std::size_t padded = (packet->bytes.size() + 3) / 4 * 4;
    packet->comment =
        option_in(body.subspan(std::min(body.size(), 20 + padded)), pcapng::option_comment);
    return packet;
}

// If an option is cut short, the search ends there without an error, because the packet itself is
// complete.
std::string_view CaptureReader::option_in(ConstBytes options, std::uint16_t wanted) const {
    while (options.size() >= 4) {
        const std::uint16_t code = word_16(options, 0);
        const std::size_t size = word_16(options, 2);
        if (code == 0 || size > options.size() - 4) break;
        if (code == wanted) {
            return {reinterpret_cast<const char*>(options.data()) + 4, size};
        }
        options = options.subspan(std::min(options.size(), 4 + (size + 3) / 4 * 4));
    }
    return {};
}

// Like enhanced_packet, but the interface has 16 bits, and a count of drops follows it.
Expected<CapturedPacket> CaptureReader::obsolete_packet(ConstBytes body) {
    if (body.size() < 20) return wrong("its block is too short");
    const std::uint64_t ticks = std::uint64_t{word_32(body, 4)} << 32 | word_32(body, 8);
    auto packet =
        packet_in(body.subspan(20), word_16(body, 0), word_32(body, 12), word_32(body, 16));
    if (!packet) return packet;
    packet->time = time_of(ticks, interfaces_[word_16(body, 0)]);
    return packet;
}

// The body has only the bytes on the wire. The captured length is the smaller one of this and the
// limit of the interface.
Expected<CapturedPacket> CaptureReader::simple_packet(ConstBytes body) {
    if (body.size() < 4) return wrong("its block is too short");
    const std::uint32_t length = word_32(body, 0);
    const std::uint32_t limit = interfaces_.empty() ? 0 : interfaces_.front().snap_length;
    return packet_in(body.subspan(4), 0, limit == 0 ? length : std::min(length, limit), length);
}

Expected<CapturedPacket> CaptureReader::packet_in(ConstBytes behind, std::uint32_t interface,
                                                  std::uint32_t captured, std::uint32_t length) {
    if (interface >= interfaces_.size()) {
        return wrong("it names interface " + number(interface) + ", which is not described");
    }
    if (captured > behind.size()) {
        return wrong("it claims " + number(captured) + " bytes, and its block has " +
                     number(behind.size()));
    }
    return CapturedPacket{.number = ++packets_,
                          .link_type = interfaces_[interface].link_type,
                          .bytes = behind.first(captured),
                          .length = length,
                          .interface = interface,
                          .application = application_};
}

std::optional<ConstBytes> CaptureReader::peek(std::size_t size) {
    if (at_ + size > window_.size()) {
        std::copy(window_.begin() + static_cast<std::ptrdiff_t>(at_),
                  window_.begin() + static_cast<std::ptrdiff_t>(filled_), window_.begin());
        filled_ -= at_;
        at_ = 0;
        if (size > window_.size()) window_.resize(std::max(size, window_size));
    }
    // Reads until `size` bytes are there and no longer, because a pipe may not send more for a long
    // time.
    while (buffered() < size) {
        const std::size_t got = read_(std::span(window_).subspan(filled_));
        if (got == 0) return std::nullopt;
        filled_ += got;
    }
    return ConstBytes(window_).subspan(at_, size);
}

std::uint16_t CaptureReader::word_16(ConstBytes bytes, std::size_t at) const {
    const auto word = load_le<std::uint16_t>(bytes.subspan(at).first<2>());
    return big_endian_ ? static_cast<std::uint16_t>(word << 8 | word >> 8) : word;
}

std::uint32_t CaptureReader::word_32(ConstBytes bytes, std::size_t at) const {
    const auto word = load_le<std::uint32_t>(bytes.subspan(at).first<4>());
    return big_endian_ ? swapped(word) : word;
}

tl::unexpected<Error> CaptureReader::wrong(const std::string& what) const {
    return unexpected("packet " + number(packets_ + 1) + ": " + what);
}

tl::unexpected<Error> CaptureReader::cut(const char* what, std::uint64_t needed) const {
    return wrong("the file ends after " + number(buffered()) + " of " + number(needed) +
                 " bytes of " + what);
}

CaptureReader::Read capture_in(ConstBytes file, std::size_t piece) {
    return [file, piece](Bytes to) mutable {
        const std::size_t size = std::min({file.size(), to.size(), piece});
        std::copy_n(file.begin(), size, to.begin());
        file = file.subspan(size);
        return size;
    };
}

}  // namespace wireproof
