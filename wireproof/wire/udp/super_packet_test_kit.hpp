// For tests: two UDP wires on loopback, and frames in which every byte is the frame's number.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "wireproof/wire/udp/peers_test_kit.hpp"
#include "wireproof/wire/udp/udp_wire.hpp"

namespace wireproof::test {

inline UdpWire open(UdpWire::Config config) {
    config.local = *Address::parse("127.0.0.1:0");
    auto wire = UdpWire::open(config);
    WIREPROOF_CHECK(wire.has_value());
    return std::move(*wire);
}

struct Two {
    explicit Two(UdpWire::Config of_a = {}, UdpWire::Config of_b = {})
        : a(open(std::move(of_a))), b(open(std::move(of_b))) {
        WIREPROOF_CHECK(a.set_peer(first, b.local_address()).has_value());
        WIREPROOF_CHECK(b.set_peer(first, a.local_address()).has_value());
    }

    UdpWire a;
    UdpWire b;
};

/// Writes the beginning in place and points to the rest. All bytes are the frame's number.
struct Numbered {
    std::uint8_t number = 0;
    std::size_t size = 0;
};

inline std::vector<std::byte> bytes_of(const Numbered& frame) {
    return std::vector<std::byte>(frame.size, std::byte{frame.number});
}

inline void commit(UdpWire& wire, PeerId to, const Numbered& frame,
                   std::span<const std::byte> payload) {
    TxFrame* const room = wire.lane(to).claim();
    ASSERT_NE(room, nullptr);
    const std::size_t in_place = std::min<std::size_t>(frame.size, 48);
    for (std::byte& byte : room->add_room(in_place)) byte = std::byte{frame.number};
    room->add_payload(payload.subspan(in_place));
    wire.lane(to).commit();
}

inline void send(UdpWire& wire, PeerId to, const std::vector<Numbered>& frames) {
    std::vector<std::vector<std::byte>> payloads;
    payloads.reserve(frames.size());
    for (const Numbered& frame : frames) {
        payloads.push_back(bytes_of(frame));
        commit(wire, to, frame, payloads.back());
    }
    wire.flush(now);
}

/// "1x700 2x700 …" for all frames that arrived. '?' marks a frame with other bytes.
inline std::string received(UdpWire& wire) {
    std::string text;
    for (int silent = 0; silent < 3;) {
        const auto frame = wire.receive(now);
        if (!frame) {
            ++silent;
            continue;
        }
        silent = 0;
        const auto number = frame->bytes.empty() ? std::byte{0} : frame->bytes.front();
        text += (text.empty() ? "" : " ") + std::to_string(std::to_integer<int>(number)) + "x" +
                std::to_string(frame->bytes.size());
        for (const std::byte byte : frame->bytes) {
            if (byte != number) return text + "?";
        }
    }
    return text;
}

}  // namespace wireproof::test
