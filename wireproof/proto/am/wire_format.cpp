#include "wireproof/proto/am/wire_format.hpp"

#include <array>
#include <cstring>

#include "wireproof/base/crc.hpp"

namespace wireproof::am {
namespace {

constexpr std::size_t sp2_size = 32;
constexpr std::size_t ethernet_size = 48;
constexpr std::size_t sp2_checksum_at = 28;
constexpr std::size_t ethernet_checksum_at = 40;

constexpr std::byte channel_bit{0x10};
constexpr std::byte in_place_bit{0x20};

std::byte kind_byte(const Header& header) {
    auto byte = std::byte(header.kind) | std::byte(header.route << 6);
    if (header.channel == Channel::reply) byte |= channel_bit;
    if (header.in_place) byte |= in_place_bit;
    return byte;
}

Kind kind_in(ConstBytes packet) {
    return static_cast<Kind>(std::to_integer<unsigned>(packet[4] & std::byte{0x0F}));
}

// The first 16 bytes are the same in both widths.
template <std::size_t N>
void encode_common(const Header& header, std::span<std::byte, N> to) {
    store_le_at<std::uint16_t, 0>(to, header.dst);
    store_le_at<std::uint16_t, 2>(to, header.src);
    to[4] = kind_byte(header);
    to[5] = std::byte(header.round);
    store_le_at<std::uint16_t, 6>(to, header.count);
    store_le_at<std::uint64_t, 8>(to, header.cookie);
}

void encode_sp2(const Header& header, std::span<std::byte, sp2_size> to) {
    encode_common(header, to);
    store_le_at<std::uint16_t, 16>(to, static_cast<std::uint16_t>(header.number));
    store_le_at<std::uint16_t, 18>(to, static_cast<std::uint16_t>(header.ack[0]));
    store_le_at<std::uint16_t, 20>(to, static_cast<std::uint16_t>(header.ack[1]));
    store_le_at<std::uint16_t, 22>(to, static_cast<std::uint16_t>(header.id));
    store_le_at<std::uint32_t, 24>(to, static_cast<std::uint32_t>(header.offset));
    store_le_at<std::uint32_t, 28>(to, std::uint32_t{0});
}

void encode_ethernet(const Header& header, std::span<std::byte, ethernet_size> to) {
    encode_common(header, to);
    store_le_at<std::uint32_t, 16>(to, header.number);
    store_le_at<std::uint32_t, 20>(to, header.ack[0]);
    store_le_at<std::uint32_t, 24>(to, header.ack[1]);
    store_le_at<std::uint32_t, 28>(to, header.id);
    store_le_at<std::uint64_t, 32>(to, header.offset);
    store_le_at<std::uint32_t, 40>(to, std::uint32_t{0});              // checksum
    store_le_at<std::uint32_t, 44>(to, std::uint32_t{header.filler});  // its upper half is zero
}

template <std::size_t N>
void decode_common(std::span<const std::byte, N> from, Header& header) {
    header.dst = load_le_at<std::uint16_t, 0>(from);
    header.src = load_le_at<std::uint16_t, 2>(from);
    header.kind = kind_in(from);
    header.channel = (from[4] & channel_bit) != std::byte{0} ? Channel::reply : Channel::request;
    header.in_place = (from[4] & in_place_bit) != std::byte{0};
    header.route = std::to_integer<std::uint8_t>(from[4] >> 6);
    header.round = std::to_integer<std::uint8_t>(from[5]);
    header.count = load_le_at<std::uint16_t, 6>(from);
    header.cookie = load_le_at<std::uint64_t, 8>(from);
}

void decode_sp2(std::span<const std::byte, sp2_size> from, Header& header) {
    header.number = load_le_at<std::uint16_t, 16>(from);
    header.ack = {load_le_at<std::uint16_t, 18>(from), load_le_at<std::uint16_t, 20>(from)};
    header.id = load_le_at<std::uint16_t, 22>(from);
    header.offset = load_le_at<std::uint32_t, 24>(from);
}

bool decode_ethernet(std::span<const std::byte, ethernet_size> from, Header& header) {
    header.number = load_le_at<std::uint32_t, 16>(from);
    header.ack = {load_le_at<std::uint32_t, 20>(from), load_le_at<std::uint32_t, 24>(from)};
    header.id = load_le_at<std::uint32_t, 28>(from);
    header.offset = load_le_at<std::uint64_t, 32>(from);
    header.filler = load_le_at<std::uint16_t, 44>(from);
    return load_le_at<std::uint16_t, 46>(from) == 0;
}

// For each kind, the channels that carry it: bit 0 request, bit 1 reply. Values that are no kind
// have none.
constexpr auto channels_of = [] {
    std::array<std::uint8_t, 16> channels{};
    const auto set = [&channels](Kind kind, std::uint8_t which) {
        channels[static_cast<std::size_t>(kind)] = which;
    };
    for (const Kind kind :
         {Kind::request, Kind::open, Kind::get_request, Kind::ack, Kind::hello, Kind::unknown}) {
        set(kind, 1);
    }
    set(Kind::reply, 2);
    for (const Kind kind : {Kind::chunk, Kind::nack, Kind::keepalive, Kind::bundle}) {
        set(kind, 3);
    }
    return channels;
}();

bool kind_fits_channel(Kind kind, Channel channel) {
    return (channels_of[static_cast<std::size_t>(kind)] >> static_cast<unsigned>(channel) & 1) != 0;
}

constexpr std::array<std::string_view, kind_count> kind_names = {
    "frame", "REQ",  "REP",       "CHUNK", "OPEN",   "GET_REQ",
    "ACK",   "NACK", "KEEPALIVE", "HELLO", "BUNDLE", "UNKNOWN"};

FrameInfo describe(Layout layout, ConstBytes packet) {
    FrameInfo info = describe_nothing(packet);
    const auto header = decode(layout, packet);
    if (!header) return info;
    info.kind = kind_names[static_cast<std::size_t>(header->kind)];
    info.channel = static_cast<std::uint32_t>(header->channel);
    if (is_numbered(header->kind) || header->kind == Kind::nack) info.number = header->number;
    // The ack field of a channel acknowledges the packets of that channel.
    if (header->kind != Kind::hello && header->kind != Kind::unknown) {
        info.ack = header->ack[info.channel];
    }
    return info;
}

}  // namespace

void encode(const Header& header, Layout layout, Bytes to) {
    if (layout == Layout::sp2) {
        encode_sp2(header, to.first<sp2_size>());
    } else {
        encode_ethernet(header, to.first<ethernet_size>());
    }
}

std::optional<Header> decode(Layout layout, ConstBytes packet) {
    Header header;
    if (layout == Layout::sp2) {
        if (packet.size() < sp2_size) return std::nullopt;
        const auto from = packet.first<sp2_size>();
        decode_common(from, header);
        decode_sp2(from, header);
    } else {
        if (packet.size() < ethernet_size) return std::nullopt;
        const auto from = packet.first<ethernet_size>();
        decode_common(from, header);
        if (!decode_ethernet(from, header)) return std::nullopt;
    }
    if (header.in_place && header.kind != Kind::open) return std::nullopt;
    const bool may_be_filled =
        header.kind == Kind::chunk || (header.kind == Kind::open && !header.in_place);
    if (header.filler != 0 && !may_be_filled) return std::nullopt;
    if (!kind_fits_channel(header.kind, header.channel)) return std::nullopt;
    if ((header.cookie == 0) != (header.kind == Kind::hello)) return std::nullopt;
    return header;
}

std::uint32_t checksum(Layout layout, ConstBytes header, ConstBytes data) {
    const std::size_t size = layout == Layout::sp2 ? sp2_size : ethernet_size;
    const std::size_t at = layout == Layout::sp2 ? sp2_checksum_at : ethernet_checksum_at;
    // Zeroes in place of the checksum, and the four bytes after it in the wide layout.
    const std::uint32_t behind =
        size > at + 4 ? load_le<std::uint32_t>(header.subspan(at + 4).first<4>()) : 0;
    std::array<std::byte, 8> end;
    store_le<std::uint64_t>(end, std::uint64_t{behind} << 32);
    Crc32c crc;
    crc.add(header.first(at));
    crc.add(ConstBytes(end).first(size - at));
    crc.add(data);
    return crc.value();
}

void store_checksum(Layout layout, Bytes header, std::uint32_t checksum) {
    const std::size_t at = layout == Layout::sp2 ? sp2_checksum_at : ethernet_checksum_at;
    store_le<std::uint32_t>(header.subspan(at).first<4>(), checksum);
}

bool checksum_holds(Layout layout, ConstBytes packet, bool trusts_payload) {
    const std::size_t size = layout == Layout::sp2 ? sp2_size : ethernet_size;
    const std::size_t at = layout == Layout::sp2 ? sp2_checksum_at : ethernet_checksum_at;
    if (packet.size() < size) return false;
    const auto stored = load_le<std::uint32_t>(packet.subspan(at).first<4>());
    const std::size_t filler =
        layout == Layout::sp2 ? 0 : load_le<std::uint16_t>(packet.subspan<44, 2>());
    if (filler > packet.size() - size) return false;
    const ConstBytes behind = packet.subspan(size, packet.size() - size - filler);
    const ConstBytes data = covered(behind, kind_in(packet), trusts_payload);
    return stored == checksum(layout, packet.first(size), data);
}

void OpenBody::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint64_t, 0>(to, address);
    store_le_at<std::uint64_t, 8>(to, total);
    store_le_at<std::uint64_t, 16>(to, handler | std::uint64_t{argument} << 32);
}

OpenBody OpenBody::decode(std::span<const std::byte, size> from) {
    return {load_le_at<std::uint64_t, 0>(from), load_le_at<std::uint64_t, 8>(from),
            load_le_at<std::uint32_t, 16>(from), load_le_at<std::uint32_t, 20>(from)};
}

void GetBody::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint64_t, 0>(to, address);
    store_le_at<std::uint64_t, 8>(to, total);
}

GetBody GetBody::decode(std::span<const std::byte, size> from) {
    return {load_le_at<std::uint64_t, 0>(from), load_le_at<std::uint64_t, 8>(from)};
}

void NackBody::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint32_t, 0>(to, end);
    store_le_at<std::uint32_t, 4>(to, reach);
}

NackBody NackBody::decode(std::span<const std::byte, size> from) {
    return {load_le_at<std::uint32_t, 0>(from), load_le_at<std::uint32_t, 4>(from)};
}

void HelloBody::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint64_t, 0>(to, job);
    store_le_at<std::uint64_t, 8>(to, nonce);
    store_le_at<std::uint64_t, 16>(to, echo);
    store_le_at<std::uint64_t, 24>(to, terms);
}

HelloBody HelloBody::decode(std::span<const std::byte, size> from) {
    return {load_le_at<std::uint64_t, 0>(from), load_le_at<std::uint64_t, 8>(from),
            load_le_at<std::uint64_t, 16>(from), load_le_at<std::uint64_t, 24>(from)};
}

void RefusalBody::encode(std::span<std::byte, size> to) const {
    store_le_at<std::uint32_t, 0>(to, what);
    store_le_at<std::uint32_t, 4>(to, id);
    store_le_at<std::uint32_t, 8>(to, reason);
}

RefusalBody RefusalBody::decode(std::span<const std::byte, size> from) {
    return {load_le_at<std::uint32_t, 0>(from), load_le_at<std::uint32_t, 4>(from),
            load_le_at<std::uint32_t, 8>(from)};
}

FrameInfo describe_sp2(ConstBytes packet) {
    return describe(Layout::sp2, packet);
}

FrameInfo describe_ethernet(ConstBytes packet) {
    return describe(Layout::ethernet, packet);
}

}  // namespace wireproof::am
