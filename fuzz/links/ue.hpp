// Ultra Ethernet's Link Layer Retry for the fuzz targets of links.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/proto/ue/link.hpp"

namespace wireproof::fuzz {

struct UeLink {
    using Engine = ue::Link;
    static constexpr std::size_t frame_max = 128;
    static constexpr bool may_lose = true;

    static ue::Config settings(std::uint8_t choice) {
        ue::Config config;
        config.checks_numbers = (choice & 2) != 0;
        config.payload_max = 64;
        config.modulus = (choice & 8) != 0 ? 8 : ue::Config::numbers;
        config.first_number = config.modulus - 2;
        config.outstanding_seq_max = (choice & 8) != 0 ? 4 : 16;
        config.replay_slots = 16;
        config.init_data_values = (choice & 8) != 0 ? 4 : 65'536;
        // Some links flush, and their second end begins with another life.
        config.replay_ct_max = (choice & 16) != 0 ? 1 : ue::Config::replay_ct_none;
        if ((choice & 16) != 0) config.byte_time = Duration::nanoseconds(1);
        return config;
    }

    static std::array<Engine, 2> ends(std::uint8_t choice) {
        ue::Config config = settings(choice);
        const Engine left(config);
        config.first_init_data = 3;
        return {left, Engine(config)};
    }

    /// On a line nothing checks the preamble, or a control ordered set. The length of the latter
    /// tells whether it has a check; for a preamble nothing tells that.
    static bool is_checked(ConstBytes frame, std::size_t at) {
        if (frame.size() == ue::CtlOs::checked_size) return true;
        return ue::starts_with(frame, ue::start_byte) && at >= ue::preamble_size;
    }

    /// A frame with a good FCS, or a control ordered set.
    static std::vector<std::byte> forge(std::uint8_t choice, ConstBytes wish) {
        std::array<std::byte, 8> first{};
        std::copy_n(wish.begin(), std::min(wish.size(), first.size()), first.begin());
        const std::uint32_t number =
            load_le<std::uint32_t>(ConstBytes(first).first<4>()) % ue::Config::numbers;
        std::array<std::byte, frame_max> room;
        TxFrame out;
        out.open(room, {.frame_max = room.size()});
        const ue::Config config = settings(choice);
        if ((first[4] & std::byte{1}) != std::byte{0}) {
            ue::CtlOs{static_cast<ue::CtlType>(1 + (std::to_integer<unsigned>(first[5]) & 3)),
                      number, load_le<std::uint16_t>(ConstBytes(first).last<2>())}
                .write(config, out);
        } else {
            const auto head = out.add_header<ue::FrameHead::size>();
            ue::FrameHead{{number}, std::to_integer<std::size_t>(first[5])}.encode(head,
                                                                                   config.preamble);
            const Bytes data = out.add_room(std::to_integer<std::size_t>(first[6]) % 65);
            std::fill(data.begin(), data.end(), first[7]);
            ue::encode_tail(
                head, data, out.add_room(8),
                {.with_preamble = config.checks_numbers,
                 .poison = (first[4] & std::byte{2}) != std::byte{0} ? config.poison_pattern : 0});
        }
        std::vector<std::byte> frame(out.size());
        out.gather(frame);
        return frame;
    }

    static void decode(ConstBytes bytes) {
        WIREPROOF_CHECK(ue::describe(bytes).length == bytes.size());
        for (const auto order : {ue::NibbleOrder::number_high, ue::NibbleOrder::number_low}) {
            if (bytes.size() < ue::CtlOs::size) break;
            const auto first = bytes.first<ue::CtlOs::size>();
            const auto ctl = ue::CtlOs::decode(first, order);
            if (!ctl || ctl->type == ue::CtlType::cf_update) continue;
            std::array<std::byte, ue::CtlOs::size> again;
            ctl->encode(again, order);
            WIREPROOF_CHECK(std::equal(again.begin(), again.end(), first.begin()));
        }
        using enum ue::PreambleOrder;
        for (const auto order : {number_first, mark_first, low_first}) {
            if (bytes.size() < ue::preamble_size) break;
            const auto first = bytes.first<ue::preamble_size>();
            const auto preamble = ue::Preamble::decode(first, order);
            if (!preamble) continue;
            std::array<std::byte, ue::preamble_size> again;
            preamble->encode(again, order);
            WIREPROOF_CHECK(std::equal(again.begin(), again.end(), first.begin()));
        }
        const auto pieces = ue::FramePieces::of(RxFrame{.bytes = bytes});
        if (!pieces) return;
        for (const bool with_preamble : {false, true}) (void)pieces->computed_fcs(with_preamble);
        (void)ue::FrameHead::decode_length(pieces->head);
    }
};

}  // namespace wireproof::fuzz
