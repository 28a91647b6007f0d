// PCI Express for the fuzz targets of links.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/proto/pcie/link.hpp"

namespace wireproof::fuzz {

struct PcieLink {
    using Engine = pcie::Link;
    static constexpr std::size_t frame_max = pcie::longest_frame;
    static constexpr bool may_lose = true;

    static std::array<Engine, 2> ends(std::uint8_t choice) {
        pcie::Config config;
        config.payload_max = 64;
        config.modulus = (choice & 8) != 0 ? 8 : 4096;
        config.first_number = config.modulus - 2;
        config.outstanding = (choice & 8) != 0 ? 3 : 16;
        config.replay_slots = 16;
        config.ack_after = choice % 3;
        if ((choice & 16) != 0) config.credits[0] = {4, 16};
        return {Engine(config), Engine(config)};
    }

    /// A DLLP, or a TLP of the length that its header has.
    static std::vector<std::byte> forge(std::uint8_t choice, ConstBytes wish) {
        std::array<std::byte, 20> first{};
        std::copy_n(wish.begin(), std::min(wish.size(), first.size()), first.begin());
        if ((choice & 1) != 0) {
            std::vector<std::byte> dllp(pcie::Dllp::size);
            pcie::Dllp{load_le<std::uint32_t>(ConstBytes(first).first<4>())}.encode(
                Bytes(dllp).first<pcie::Dllp::size>(), true);
            return dllp;
        }
        // The header as this engine writes it, or with some wrong bytes.
        pcie::TlpHead head;
        head.number = load_le<std::uint16_t>(ConstBytes(first).first<2>()) % 4096;
        head.length = std::to_integer<std::size_t>(first[2]);
        if ((first[3] & std::byte{1}) != std::byte{0}) head.type = pcie::FlowType::non_posted;
        std::vector<std::byte> tlp(head.frame_size());
        const auto header = Bytes(tlp).first<pcie::TlpHead::size>();
        head.encode(header);
        if ((first[3] & std::byte{2}) != std::byte{0}) {
            header[3 + std::to_integer<std::size_t>(first[4]) % 16] = first[5];
        }
        const ConstBytes data = ConstBytes(tlp).subspan(pcie::TlpHead::size, head.length);
        const Bytes rest = Bytes(tlp).subspan(pcie::TlpHead::size + head.length);
        pcie::encode_tail(header, data, rest, (first[3] & std::byte{4}) != std::byte{0}, true);
        return tlp;
    }

    static void decode(ConstBytes bytes) {
        WIREPROOF_CHECK(pcie::describe(bytes).length == bytes.size());
        if (bytes.size() >= pcie::Dllp::size) {
            const auto first = bytes.first<pcie::Dllp::size>();
            if (const auto dllp = pcie::Dllp::decode(first, true)) {
                std::array<std::byte, pcie::Dllp::size> again;
                dllp->encode(again, true);
                WIREPROOF_CHECK(std::equal(again.begin(), again.end(), first.begin()));
            }
        }
        const auto tlp = pcie::TlpPieces::of(RxFrame{.bytes = bytes});
        if (!tlp) return;
        (void)tlp->computed_lcrc();
        (void)tlp->ecrc_matches();
        const auto head = pcie::TlpHead::decode(tlp->head);
        if (!head) return;
        WIREPROOF_CHECK(head->length <= 4096 && head->frame_size() % 4 == 0);
        std::array<std::byte, pcie::TlpHead::size> again;
        head->encode(again);
        const auto same = pcie::TlpHead::decode(again);
        WIREPROOF_CHECK(same && same->length == head->length && same->type == head->type);
    }
};

}  // namespace wireproof::fuzz
