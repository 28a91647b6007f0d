// The header of most packets, messages and chunks in the wide layout. It is read and written as six
// words instead of field by field. wire_format.hpp defines the format; a test compares the two.
#pragma once

#include <array>
#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/base/crc.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

struct ShortHeader {
    static constexpr std::size_t size = 48;
    /// The packets of a chunk have these first bytes in common: all before the offset.
    static constexpr std::size_t common = 32;

    // dst, src, kind and channel as they are in the first word. The route is in the bits above
    // them.
    static constexpr std::uint64_t address_mask = 0x3F'FFFF'FFFF;
    static constexpr std::uint64_t address_of(std::uint16_t dst, std::uint16_t src, Kind kind,
                                              Channel channel) {
        return std::uint64_t{dst} | std::uint64_t{src} << 16 |
               static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint64_t>(channel) << 36;
    }
    /// This bit of the address marks an OPEN without chunks.
    static constexpr std::uint64_t in_place = std::uint64_t{1} << 37;

    std::uint64_t address = 0;
    std::uint8_t route = 0;
    std::uint8_t round = 0;
    std::uint16_t count = 0;
    std::uint64_t cookie = 0;
    std::uint32_t number = 0;
    std::array<std::uint32_t, channel_count> ack{};
    std::uint32_t id = 0;
    std::uint64_t offset = 0;
    std::uint16_t filler = 0;

    // Always inline: the header then stays in registers. In memory it would be written field by
    // field and read in words, and each of these reads would wait for the writes.

    /// With zero as the checksum, like encode() of wire_format.hpp.
    [[gnu::always_inline]] void encode(std::span<std::byte, size> to) const {
        store_le_at<std::uint64_t, 0>(to, address | std::uint64_t{route} << 38 |
                                              std::uint64_t{round} << 40 |
                                              std::uint64_t{count} << 48);
        store_le_at<std::uint64_t, 8>(to, cookie);
        store_le_at<std::uint64_t, 16>(to, number | std::uint64_t{ack[0]} << 32);
        store_le_at<std::uint64_t, 24>(to, ack[1] | std::uint64_t{id} << 32);
        store_le_at<std::uint64_t, 32>(to, offset);
        store_le_at<std::uint64_t, 40>(to, std::uint64_t{filler} << 32);
    }

    /// Only the address, which shows whether the rest may be a predicted header.
    static std::uint64_t address_in(std::span<const std::byte, size> from) {
        return load_le_at<std::uint64_t, 0>(from) & address_mask;
    }
    [[gnu::always_inline]] static ShortHeader decode(std::span<const std::byte, size> from) {
        const auto first = load_le_at<std::uint64_t, 0>(from);
        const auto third = load_le_at<std::uint64_t, 16>(from);
        const auto fourth = load_le_at<std::uint64_t, 24>(from);
        ShortHeader header;
        header.address = first & address_mask;
        header.route = static_cast<std::uint8_t>(first >> 38 & 3);
        header.round = static_cast<std::uint8_t>(first >> 40);
        header.count = static_cast<std::uint16_t>(first >> 48);
        header.cookie = load_le_at<std::uint64_t, 8>(from);
        header.number = static_cast<std::uint32_t>(third);
        header.ack = {static_cast<std::uint32_t>(third >> 32), static_cast<std::uint32_t>(fourth)};
        header.id = static_cast<std::uint32_t>(fourth >> 32);
        header.offset = load_le_at<std::uint64_t, 32>(from);
        return header;
    }
    static std::uint64_t offset_in(std::span<const std::byte, size> from) {
        return load_le_at<std::uint64_t, common>(from);
    }
    static std::uint32_t checksum_in(std::span<const std::byte, size> from) {
        return load_le_at<std::uint32_t, 40>(from);
    }
    /// Adds the part of the header after `common` that the checksum covers: the offset, and zeroes
    /// for the checksum itself. The packet has no filler.
    static void add_rest(std::span<const std::byte, size> from, Crc32c& crc) {
        constexpr std::array<std::byte, size - common - 8> no_checksum{};
        crc.add(from.subspan<common, 8>());
        crc.add(ConstBytes(no_checksum));
    }
    /// The four bytes after the checksum: filler and zeroes.
    static std::uint32_t filler_in(std::span<const std::byte, size> from) {
        return load_le_at<std::uint32_t, 44>(from);
    }
};

/// ShortHeader::address of the packets that one channel sends.
struct ShortAddresses {
    std::uint64_t single = 0;  // of requests, or of replies
    std::uint64_t bundle = 0;
    std::uint64_t chunk = 0;
    std::uint64_t open = 0;
};

}  // namespace wireproof::am
