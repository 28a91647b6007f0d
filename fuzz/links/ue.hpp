// Ultra Ethernet's Link Layer Retry for the fuzz targets of links.
#pragma once

#include <algorithm>
#include <array>

#include "wireproof/base/check.hpp"
#include "wireproof/proto/ue/link.hpp"

namespace wireproof::fuzz {

struct UeLink {
    using Engine = ue::Link;
    static constexpr std::size_t frame_max = 128;
    static constexpr bool may_lose = true;

    static std::array<Engine, 2> ends(std::uint8_t choice) {
        ue::Config config;
        config.payload_max = 64;
        config.modulus = (choice & 8) != 0 ? 8 : ue::Config::numbers;
        config.first_number = config.modulus - 2;
        config.outstanding_seq_max = (choice & 8) != 0 ? 4 : 16;
        config.replay_slots = 16;
        config.init_data_values = (choice & 8) != 0 ? 4 : 65'536;
        // Some links flush, and their second end begins with another life.
        config.replay_ct_max = (choice & 16) != 0 ? 1 : ue::Config::replay_ct_none;
        if ((choice & 16) != 0) config.byte_time = Duration::nanoseconds(1);
        const Engine left(config);
        config.first_init_data = 3;
        return {left, Engine(config)};
    }

    /// Nothing checks the preamble, or a control ordered set.
    static bool is_checked(ConstBytes frame, std::size_t at) {
        return ue::starts_with(frame, ue::start_byte) && at >= ue::preamble_size;
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
        (void)pieces->computed_fcs();
        (void)ue::FrameHead::decode_length(pieces->head);
    }
};

}  // namespace wireproof::fuzz
