// The link layer retry of CXL for the fuzz targets of links.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "wireproof/base/check.hpp"
#include "wireproof/proto/cxl/link.hpp"

namespace wireproof::fuzz {

struct CxlLink {
    using Engine = cxl::Link;
    static constexpr std::size_t frame_max = cxl::flit_size;
    // A frame that vanishes in silence is not a fault of a flit line.
    static constexpr bool may_lose = false;

    static std::array<Engine, 2> ends(std::uint8_t choice) {
        cxl::Config config;
        config.modulus = 22;
        config.first_number = 20;
        config.queue = 8;
        config.timeout = 200;
        config.ack_flush = 20;
        config.probe_after = 50;
        config.train_every = 50;
        config.max_num_retry = 2;
        config.max_num_phy_reinit = cxl::Config::unlimited;
        config.frames_needed = (choice & 8) != 0 ? 1 : 5;
        config.backs_off = (choice & 16) != 0;
        return {Engine(config), Engine(config)};
    }

    /// A training set, or a flit: its control word, its payload, and the rest.
    static std::vector<std::byte> forge(std::uint8_t, ConstBytes wish) {
        if (wish.size() >= 4 && (wish[0] & std::byte{7}) == std::byte{7}) {
            const auto flags = std::to_integer<unsigned>(wish[1]);
            std::vector<std::byte> set(cxl::TrainingSet::size);
            cxl::TrainingSet{.fresh = (flags & 1) != 0,
                             .heard = (flags & 2) != 0,
                             .done = (flags & 4) != 0,
                             .own = std::to_integer<std::uint8_t>(wish[2]),
                             .peers = std::to_integer<std::uint8_t>(wish[3]),
                             .down = (flags & 8) != 0}
                .encode(Bytes(set).first<cxl::TrainingSet::size>());
            return set;
        }
        cxl::FlitBytes data{};
        std::copy_n(wish.begin(), std::min(wish.size(), data.size()), data.begin());
        std::vector<std::byte> flit(cxl::flit_size);
        cxl::write_flit(data, true, Bytes(flit).first<cxl::flit_size>());
        return flit;
    }

    static void decode(ConstBytes bytes) {
        WIREPROOF_CHECK(cxl::describe(bytes).length == bytes.size());
        if (const auto set = cxl::TrainingSet::decode(bytes)) {
            std::array<std::byte, cxl::TrainingSet::size> again;
            set->encode(again);
            WIREPROOF_CHECK(std::equal(again.begin(), again.end(), bytes.begin()));
        }
        const RxFrame frame{
            .bytes = bytes, .integrity = Integrity::intact, .lent = {}};  // whatever its CRC is
        const auto flit = cxl::read_flit(frame);
        if (!flit) return;
        WIREPROOF_CHECK(cxl::acks_in(*flit) <= cxl::acks_max);
        switch (cxl::kind_of(*flit)) {
            case cxl::FlitKind::message: {
                const auto message = cxl::message_in(*flit);
                WIREPROOF_CHECK(!message || message->size() <= cxl::message_room);
                break;
            }
            case cxl::FlitKind::request: {
                const auto request = cxl::RetryRequest::decode(*flit);
                WIREPROOF_CHECK(cxl::RetryRequest::decode(request.encode()) == request);
                break;
            }
            case cxl::FlitKind::ack: {
                const auto ack = cxl::RetryAck::decode(*flit);
                WIREPROOF_CHECK(cxl::RetryAck::decode(ack.encode()) == ack);
                break;
            }
            default: break;
        }
        std::array<std::byte, cxl::flit_size> again;
        cxl::write_flit(*flit, true, again);
        WIREPROOF_CHECK(cxl::read_flit({.bytes = again}));
    }
};

}  // namespace wireproof::fuzz
