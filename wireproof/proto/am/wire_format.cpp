#include "wireproof/proto/am/wire_format.hpp"

#include <array>
#include <cstring>

#include "wireproof/base/crc.hpp"
#include "wireproof/proto/am/header_words.hpp"

namespace wireproof::am {
namespace {

constexpr std::size_t sp2_size = header_size_of(Layout::sp2);
static_assert(HeaderWords::size == header_size_of(Layout::ethernet));
constexpr std::size_t sp2_checksum_at = 28;
constexpr std::size_t ethernet_checksum_at = 40;
constexpr std::size_t checksum_at(Layout layout) {
    return layout == Layout::sp2 ? sp2_checksum_at : ethernet_checksum_at;
}

HeaderWords words_of(const Header& header) {
    HeaderWords words;
    words.flow = HeaderWords::flow_of(header.dst, header.src, header.kind, header.channel);
    if (header.in_place) words.flow |= HeaderWords::in_place;
    words.route = header.route;
    words.round = header.round;
    words.count = header.count;
    words.cookie = header.cookie;
    words.number = header.number;
    words.ack = header.ack;
    words.id = header.id;
    words.offset = header.offset;
    words.filler = header.filler;
    return words;
}

// The first 16 bytes are the same in both layouts.
void encode_sp2(const HeaderWords& words, std::span<std::byte, sp2_size> to) {
    std::array<std::byte, HeaderWords::size> wide;
    words.encode(wide);
    std::memcpy(to.data(), wide.data(), 16);
    store_le_at<std::uint16_t, 16>(to, static_cast<std::uint16_t>(words.number));
    store_le_at<std::uint16_t, 18>(to, static_cast<std::uint16_t>(words.ack[0]));
    store_le_at<std::uint16_t, 20>(to, static_cast<std::uint16_t>(words.ack[1]));
    store_le_at<std::uint16_t, 22>(to, static_cast<std::uint16_t>(words.id));
    store_le_at<std::uint32_t, 24>(to, static_cast<std::uint32_t>(words.offset));
    store_le_at<std::uint32_t, sp2_checksum_at>(to, std::uint32_t{0});
}

HeaderWords decode_sp2(std::span<const std::byte, sp2_size> from) {
    HeaderWords words;
    words.set_first(load_le_at<std::uint64_t, 0>(from));
    words.cookie = load_le_at<std::uint64_t, 8>(from);
    words.number = load_le_at<std::uint16_t, 16>(from);
    words.ack = {load_le_at<std::uint16_t, 18>(from), load_le_at<std::uint16_t, 20>(from)};
    words.id = load_le_at<std::uint16_t, 22>(from);
    words.offset = load_le_at<std::uint32_t, 24>(from);
    words.checksum = load_le_at<std::uint32_t, sp2_checksum_at>(from);
    return words;
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
    const HeaderWords words = words_of(header);
    if (layout == Layout::sp2) {
        encode_sp2(words, to.first<sp2_size>());
    } else {
        words.encode(to.first<HeaderWords::size>());
    }
}

HeaderWords read_words(Layout layout, ConstBytes packet) {
    if (layout == Layout::sp2) return decode_sp2(packet.first<sp2_size>());
    return HeaderWords::decode(packet.first<HeaderWords::size>());
}

std::optional<Header> header_of(const HeaderWords& words) {
    Header header;
    header.dst = static_cast<std::uint16_t>(words.flow);
    header.src = static_cast<std::uint16_t>(words.flow >> 16);
    header.kind = words.kind();
    header.channel = words.channel();
    header.in_place = (words.flow & HeaderWords::in_place) != 0;
    header.route = words.route;
    header.round = words.round;
    header.count = words.count;
    header.cookie = words.cookie;
    header.number = words.number;
    header.ack = words.ack;
    header.id = words.id;
    header.offset = words.offset;
    header.filler = static_cast<std::uint16_t>(words.filler);
    if (words.filler != header.filler) return std::nullopt;
    if (header.in_place && header.kind != Kind::open) return std::nullopt;
    const bool may_be_filled =
        header.kind == Kind::chunk || (header.kind == Kind::open && !header.in_place);
    if (header.filler != 0 && !may_be_filled) return std::nullopt;
    if (!kind_fits_channel(header.kind, header.channel)) return std::nullopt;
    if ((header.cookie == 0) != (header.kind == Kind::hello)) return std::nullopt;
    return header;
}

std::optional<Header> decode(Layout layout, ConstBytes packet) {
    if (packet.size() < header_size_of(layout)) return std::nullopt;
    return header_of(read_words(layout, packet));
}

std::uint32_t checksum(Layout layout, ConstBytes header, ConstBytes data) {
    const std::size_t size = header_size_of(layout);
    const std::size_t at = checksum_at(layout);
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
    store_le<std::uint32_t>(header.subspan(checksum_at(layout)).first<4>(), checksum);
}

bool checksum_holds(Layout layout, const HeaderWords& words, ConstBytes packet,
                    bool trusts_payload) {
    const std::size_t size = header_size_of(layout);
    const std::size_t filler = words.filler & 0xFFFF;
    if (filler > packet.size() - size) return false;
    const ConstBytes behind = packet.subspan(size, packet.size() - size - filler);
    const ConstBytes data = covered(behind, words.kind(), trusts_payload);
    return words.checksum == checksum(layout, packet.first(size), data);
}

bool checksum_holds(Layout layout, ConstBytes packet, bool trusts_payload) {
    return packet.size() >= header_size_of(layout) &&
           checksum_holds(layout, read_words(layout, packet), packet, trusts_payload);
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
