// HIPPI-6400 for the fuzz targets of links.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/proto/hippi/link.hpp"

namespace wireproof::fuzz {

struct HippiLink {
    using Engine = hippi::Link;
    static constexpr std::size_t frame_max = hippi::unit_size;
    static constexpr bool may_lose = true;

    static std::array<Engine, 2> ends(std::uint8_t choice) {
        hippi::Config config;
        config.first_number = 250;
        config.message_max = 128;
        config.messages_queued = 4;
        config.rseq_any_good = (choice & 8) != 0;
        config.seed = 1;
        const Engine left(config);
        config.seed = 2;
        return {left, Engine(config)};
    }

    static std::vector<std::byte> forge(std::uint8_t, ConstBytes wish) {
        std::vector<std::byte> unit(hippi::unit_size);
        // First the control word, and then the data.
        const Bytes control = Bytes(unit).last(hippi::control_size);
        const std::size_t first = std::min(wish.size(), control.size());
        std::copy_n(wish.begin(), first, control.begin());
        std::copy_n(wish.begin() + static_cast<std::ptrdiff_t>(first),
                    std::min(wish.size() - first, hippi::data_size), unit.begin());
        const auto data = ConstBytes(unit).first<hippi::data_size>();
        hippi::store_lcrc(control.first<hippi::control_size>(),
                          hippi::lcrc(data, ConstBytes(control).first<hippi::control_size>()));
        return unit;
    }

    static void decode(ConstBytes bytes) {
        // A control word without data may be a micropacket whose data is lent in other memory.
        const std::size_t length = hippi::describe(bytes).length;
        WIREPROOF_CHECK(length == bytes.size() ||
                        (bytes.size() == hippi::control_size && length == hippi::unit_size));
    }
};

}  // namespace wireproof::fuzz
