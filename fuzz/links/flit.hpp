// The retry of flits for the fuzz targets of links.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/proto/flit/ecc.hpp"
#include "wireproof/proto/flit/halves.hpp"
#include "wireproof/proto/flit/link.hpp"

namespace wireproof::fuzz {

struct FlitLink {
    using Engine = flit::Link;
    static constexpr std::size_t frame_max = flit::flit_max;
    static constexpr bool may_lose = false;

    static flit::Config kind(std::uint8_t choice) {
        return (choice & 24) == 24  ? flit::Config::cxl3_halves()
               : (choice & 8) != 0  ? flit::Config::pcie6_selective()
               : (choice & 16) != 0 ? flit::Config::ucie_68()
                                    : flit::Config::pcie6();
    }

    /// Bytes of a frame that are of use even if the rest is spoilt. Without such: more than it has.
    static std::size_t separate_front(std::uint8_t choice) {
        return kind(choice).format == flit::Format::cxl_halves ? flit::half_size
                                                               : flit::flit_max + 1;
    }

    /// The header, the length of the message, and the message.
    static std::vector<std::byte> forge(std::uint8_t choice, ConstBytes wish) {
        const flit::Config config = kind(choice);
        if (config.format == flit::Format::cxl_halves) return forge_halves(config, wish);
        const flit::Shape shape = flit::Shape::of(config.format);
        std::vector<std::byte> flit(shape.size);
        const auto put = [&](std::size_t at, std::size_t count) {
            count = std::min(count, wish.size());
            std::copy_n(wish.begin(), count, flit.begin() + static_cast<std::ptrdiff_t>(at));
            wish = wish.subspan(count);
        };
        put(shape.header_at, shape.header_size);
        put(shape.data_at + shape.data_size - flit::length_size, flit::length_size);
        put(shape.data_at, shape.data_size - flit::length_size);
        flit::write_checks(config.format, config.crc_order, flit);
        return flit;
    }

    static std::vector<std::byte> forge_halves(const flit::Config& config, ConstBytes wish) {
        std::vector<std::byte> flit(flit::flit_max);
        std::copy_n(wish.begin(), std::min<std::size_t>(wish.size(), 2), flit.begin());
        constexpr std::size_t length_at = 121;
        if (wish.size() > 2) flit[length_at] = wish[2];
        for (std::size_t i = 3; i < wish.size(); ++i) flit[i - 1] = wish[i];
        flit::write_half_checks(config.crc_order, Bytes(flit).first<flit::flit_max>());
        return flit;
    }

    static std::array<Engine, 2> ends(std::uint8_t choice) {
        flit::Config config = kind(choice);
        config.continuous = false;
        config.modulus = 7;
        config.first_number = 6;
        config.outstanding = 3;
        config.replay_slots = 6;
        config.store_flits = 2;
        config.ack_after = 1 + choice % 3;
        config.ack_latency = Duration::nanoseconds(10);
        return {Engine(config), Engine(config)};
    }

    static void decode(ConstBytes bytes) {
        using enum flit::Format;
        for (const flit::Format format : {pcie, cxl, ucie_68, ucie_256}) {
            WIREPROOF_CHECK(flit::describe_of(format)(bytes).length == bytes.size());
            const flit::Shape shape = flit::Shape::of(format);
            const auto pieces = flit::FlitPieces::of(format, RxFrame{.bytes = bytes});
            WIREPROOF_CHECK(pieces.has_value() == (bytes.size() == shape.size));
            if (!pieces) continue;
            if (pieces->message) WIREPROOF_CHECK(pieces->message->size() < shape.data_size);
            (void)flit::crc_matches(format, flit::CrcOrder::first_byte_first, bytes);
            const auto header = flit::Header::decode(format, pieces->header);
            if (!header) continue;
            std::array<std::byte, 6> again;
            header->encode(format, again.data());
            WIREPROOF_CHECK(flit::Header::decode(format, again.data()) == header);
        }
        if (bytes.size() != flit::flit_max) return;
        decode_halves(bytes.first<flit::flit_max>());
        // A correction leaves a flit that needs none.
        const auto found = flit::ecc_find(bytes.first<flit::flit_max>());
        if (found.result != flit::EccResult::corrected) return;
        std::array<std::byte, flit::flit_max> corrected;
        std::copy(bytes.begin(), bytes.end(), corrected.begin());
        found.apply(Bytes(corrected).first<flit::ecc_covers>());
        for (const std::byte error : flit::ecc_find(corrected).error) {
            WIREPROOF_CHECK(error == std::byte{0});
        }
    }

    static void decode_halves(std::span<const std::byte, flit::flit_max> bytes) {
        using flit::CrcOrder;
        std::array<std::byte, flit::flit_max> flit;
        std::copy(bytes.begin(), bytes.end(), flit.begin());
        const auto found = flit::find_halves(CrcOrder::first_byte_first, true, flit);
        WIREPROOF_CHECK(!(found.valid && found.suspect));
        if (!found.changed) WIREPROOF_CHECK(std::equal(flit.begin(), flit.end(), bytes.begin()));
        const auto half = flit::EvenHalf::of(flit);
        if (half) WIREPROOF_CHECK(half->message.size() <= half->length);
        const auto joined = flit::join_halves(flit);
        WIREPROOF_CHECK(joined.has_value() == half.has_value());
        if (joined) WIREPROOF_CHECK(joined->size() == half->length);
    }
};

}  // namespace wireproof::fuzz
