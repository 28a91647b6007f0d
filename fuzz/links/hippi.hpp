// HIPPI-6400 for the fuzz targets of links.
#pragma once

#include <array>

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

    static void decode(ConstBytes bytes) {
        // A control word without data may be a micropacket whose data is lent in other memory.
        const std::size_t length = hippi::describe(bytes).length;
        WIREPROOF_CHECK(length == bytes.size() ||
                        (bytes.size() == hippi::control_size && length == hippi::unit_size));
    }
};

}  // namespace wireproof::fuzz
