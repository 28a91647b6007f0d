// A header as values: what a frame says about itself, read once and in words. Most packets of the
// wide layout are read and written only in this form. wire_format.hpp defines the format, and
// Header has its fields one by one.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

struct HeaderWords {
    static constexpr std::size_t size = 48;  // in the wide layout
    /// The packets of a chunk have these first bytes in common: all before the offset.
    static constexpr std::size_t common = 32;
    /// The offset and the bytes behind it.
    static constexpr std::size_t rest = size - common;

    // The flow of a packet: dst, src, kind and channel as they are in the first word. The route is
    // in the bits above them.
    static constexpr std::uint64_t flow_mask = 0x3F'FFFF'FFFF;
    static constexpr std::uint64_t flow_of(std::uint16_t dst, std::uint16_t src, Kind kind,
                                           Channel channel) {
        return std::uint64_t{dst} | std::uint64_t{src} << 16 |
               static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint64_t>(channel) << 36;
    }
    /// This bit of the flow marks an OPEN without chunks.
    static constexpr std::uint64_t in_place = std::uint64_t{1} << 37;

    std::uint64_t flow = 0;
    std::uint8_t route = 0;
    std::uint8_t round = 0;
    std::uint16_t count = 0;
    std::uint64_t cookie = 0;
    std::uint32_t number = 0;
    std::array<std::uint32_t, channel_count> ack{};
    std::uint32_t id = 0;
    std::uint64_t offset = 0;
    std::uint32_t checksum = 0;
    std::uint32_t filler = 0;  // above 0xFFFF: the two bytes behind it are not zero

    // Always inline: the header then stays in registers. In memory it would be written field by
    // field and read in words, and each of these reads would wait for the writes.

    /// With zero as the checksum, like encode() of wire_format.hpp.
    [[gnu::always_inline]] void encode(std::span<std::byte, size> to) const {
        store_le_at<std::uint64_t, 0>(to, flow | std::uint64_t{route} << 38 |
                                              std::uint64_t{round} << 40 |
                                              std::uint64_t{count} << 48);
        store_le_at<std::uint64_t, 8>(to, cookie);
        store_le_at<std::uint64_t, 16>(to, number | std::uint64_t{ack[0]} << 32);
        store_le_at<std::uint64_t, 24>(to, ack[1] | std::uint64_t{id} << 32);
        store_le_at<std::uint64_t, 32>(to, offset);
        store_le_at<std::uint64_t, 40>(to, std::uint64_t{filler} << 32);
    }
    /// The first word shows whether the others are worth reading.
    static std::uint64_t first_in(std::span<const std::byte, size> from) {
        return load_le_at<std::uint64_t, 0>(from);
    }
    [[gnu::always_inline]] static HeaderWords decode(std::span<const std::byte, size> from) {
        return decode(first_in(from), from);
    }
    [[gnu::always_inline]] static HeaderWords decode(std::uint64_t first,
                                                     std::span<const std::byte, size> from) {
        const auto third = load_le_at<std::uint64_t, 16>(from);
        const auto fourth = load_le_at<std::uint64_t, 24>(from);
        const auto last = load_le_at<std::uint64_t, 40>(from);
        HeaderWords header;
        header.set_first(first);
        header.cookie = load_le_at<std::uint64_t, 8>(from);
        header.number = static_cast<std::uint32_t>(third);
        header.ack = {static_cast<std::uint32_t>(third >> 32), static_cast<std::uint32_t>(fourth)};
        header.id = static_cast<std::uint32_t>(fourth >> 32);
        header.offset = load_le_at<std::uint64_t, 32>(from);
        header.checksum = static_cast<std::uint32_t>(last);
        header.filler = static_cast<std::uint32_t>(last >> 32);
        return header;
    }
    /// The first word is the same in both layouts.
    [[gnu::always_inline]] void set_first(std::uint64_t word) {
        flow = word & flow_mask;
        route = static_cast<std::uint8_t>(word >> 38 & 3);
        round = static_cast<std::uint8_t>(word >> 40);
        count = static_cast<std::uint16_t>(word >> 48);
    }

    Kind kind() const { return static_cast<Kind>(flow >> 32 & 0xF); }
    Channel channel() const { return static_cast<Channel>(flow >> 36 & 1); }
    /// The `common` bytes of both are equal.
    bool is_common_with(const HeaderWords& other) const {
        return flow == other.flow && route == other.route && round == other.round &&
               count == other.count && cookie == other.cookie && number == other.number &&
               ack == other.ack && id == other.id;
    }
    /// What a checksum covers of the bytes behind `common`, in a packet without filler.
    std::array<std::byte, rest> covered_rest() const {
        std::array<std::byte, rest> bytes{};
        store_le_at<std::uint64_t, 0>(std::span(bytes), offset);
        return bytes;
    }
};

/// The flows of the packets that one channel sends.
struct Flows {
    std::uint64_t single = 0;  // of requests, or of replies
    std::uint64_t bundle = 0;
    std::uint64_t chunk = 0;
    std::uint64_t open = 0;
};

/// The bytes are a header of this layout: the caller has checked the size.
HeaderWords read_words(Layout layout, ConstBytes packet);

/// The fields one by one. Nothing: a field has a value that no sender writes.
std::optional<Header> header_of(const HeaderWords& words);

/// Whether the checksum in the header is right for the packet from which these words were read.
/// This reads the bytes of the header again, so nobody may be able to change them.
bool checksum_holds(Layout layout, const HeaderWords& words, ConstBytes packet,
                    bool trusts_payload);

}  // namespace wireproof::am
