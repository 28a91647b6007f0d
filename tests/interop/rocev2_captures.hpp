// The packets of the captures of Linux's Soft-RoCE in tests/data/rocev2.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "wireproof/base/pcap.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/wire/udp/rocev2_datagram.hpp"

namespace wireproof::test {

inline std::filesystem::path rocev2_folder() {
    return std::filesystem::path(WIREPROOF_TEST_DATA) / "rocev2";
}

/// A RoCEv2 packet that owns its bytes.
struct CapturedRocev2 {
    std::uint64_t number = 0;  // in its file
    std::vector<std::byte> frame;
    std::uint64_t time = 0;  // nanoseconds since 1970; 0: not known

    Rocev2Datagram datagram() const { return Rocev2Datagram::find(frame).value(); }
    proto::ib::Packet packet() const {
        return proto::ib::Packet::decode({.bytes = datagram().packet}).value();
    }
};

struct Capture {
    std::string name;  // "rc_send", "rc_drop_ack.at_server"
    std::vector<CapturedRocev2> packets;
    std::size_t other = 0;  // packets of other protocols

    static Capture read(const std::filesystem::path& path) {
        std::ifstream file(path, std::ios::binary);
        std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
        CaptureReader reader(capture_in(std::as_bytes(std::span(bytes))));
        Capture capture{.name = path.stem().string(), .packets = {}};
        while (true) {
            const auto next = reader.next();
            EXPECT_TRUE(next) << path << ": " << next.error().message;
            if (!next || !*next) return capture;
            const ConstBytes frame = (*next)->bytes;
            const auto found = Rocev2Datagram::find(frame);
            if (found) {
                capture.packets.push_back({.number = (*next)->number,
                                           .frame = {frame.begin(), frame.end()},
                                           .time = (*next)->time.value_or(0)});
            } else {
                EXPECT_EQ(found.error(), NotRocev2::other) << path << " " << (*next)->number;
                ++capture.other;
            }
        }
    }

    static Capture named(const std::string& name) {
        return read(rocev2_folder() / (name + ".pcap"));
    }
};

/// All captures, sorted by name.
inline std::vector<Capture> all_captures() {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(rocev2_folder())) {
        if (entry.path().extension() == ".pcap") paths.push_back(entry.path());
    }
    std::ranges::sort(paths);
    std::vector<Capture> captures;
    for (const auto& path : paths) captures.push_back(Capture::read(path));
    return captures;
}

}  // namespace wireproof::test
