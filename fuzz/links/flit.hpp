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

    /// The bytes of a frame that a receiver can use alone; 0: none.
    static std::size_t separate_front(std::uint8_t choice) {
        return kind(choice).format == flit::Format::cxl_halves ? flit::half_size : 0;
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

    /// The header, the length of the message, and the message, again and again in both halves.
    static std::vector<std::byte> forge_halves(const flit::Config& config, ConstBytes wish) {
        std::array<std::byte, 3> begin{};
        std::copy_n(wish.begin(), std::min(wish.size(), begin.size()), begin.begin());
        std::vector<std::byte> message(flit::even_message_max + flit::odd_message_max);
        for (std::size_t i = 0; i < message.size() && wish.size() > begin.size(); ++i) {
            message[i] = wish[begin.size() + i % (wish.size() - begin.size())];
        }
        std::vector<std::byte> flit(flit::flit_max);
        TxFrame out;
        out.open(flit, {.frame_max = flit.size()});
        flit::write_halves(config.crc_order, {}, message, out);
        constexpr std::size_t length_at = 121;
        flit[0] = begin[0];
        flit[1] = begin[1];
        flit[length_at] = begin[2];
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

    /// As they are, and with right checks and up to three wrong bytes, which the first bytes name.
    static void decode_halves(std::span<const std::byte, flit::flit_max> bytes) {
        using flit::CrcOrder;
        std::array<std::byte, flit::flit_max> flit;
        std::copy(bytes.begin(), bytes.end(), flit.begin());
        check_finding(flit);
        std::copy(bytes.begin(), bytes.end(), flit.begin());
        flit::write_half_checks(CrcOrder::first_byte_first, flit);
        const auto good = flit;
        for (std::size_t i = 0; i < 6; i += 2) {
            flit[std::to_integer<std::size_t>(bytes[i])] ^= bytes[i + 1];
        }
        const auto received = flit;
        const flit::HalvesFinding found = check_finding(flit);
        // Up to three wrong bytes never have right checks.
        using Even = flit::HalvesFinding::Even;
        const ConstBytes used = found.even == Even::as_received ? ConstBytes(received) : flit;
        if (found.even != Even::none) {
            WIREPROOF_CHECK(std::equal(good.begin(), good.begin() + flit::half_size, used.begin()));
        }
        if (!found.valid) return;
        const auto whole = flit::join_halves(flit);
        auto expected = good;
        const auto message = flit::join_halves(expected);
        WIREPROOF_CHECK(whole.has_value() == message.has_value());
        if (whole) {
            WIREPROOF_CHECK(
                std::equal(whole->begin(), whole->end(), message->begin(), message->end()));
        }
    }

    static flit::HalvesFinding check_finding(std::array<std::byte, flit::flit_max>& flit) {
        const auto before = flit;
        const auto found = flit::find_halves(flit::CrcOrder::first_byte_first, true, flit);
        WIREPROOF_CHECK(!(found.valid && found.suspect));
        if (!found.changed) WIREPROOF_CHECK(flit == before);
        auto joined = flit;
        const auto half = flit::EvenHalf::of(flit);
        const auto message = flit::join_halves(joined);
        WIREPROOF_CHECK(message.has_value() == half.has_value());
        if (half) WIREPROOF_CHECK(half->message.size() <= half->length);
        if (message) WIREPROOF_CHECK(message->size() == half->length);
        return found;
    }
};

}  // namespace wireproof::fuzz
