// A capture file packet by packet, as far as InfiniBand is concerned: what is a RoCEv2 packet, is
// its ICRC right, does it decode.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "wireproof/base/pcap.hpp"
#include "wireproof/cli/files.hpp"
#include "wireproof/proto/ib/packet.hpp"
#include "wireproof/wire/udp/rocev2_datagram.hpp"

namespace wireproof::cli {

/// A RoCEv2 packet of a capture, or what claims to be one. Lent until the next.
struct SeenPacket {
    std::uint64_t number = 0;         // in the file, from 1
    std::optional<double> seconds{};  // since the file's first packet
    Rocev2Datagram datagram{};        // as far as it could be read
    bool icrc_right = false;
    std::optional<ib::Packet> packet{};  // nothing: malformed
    std::string_view malformed{};        // why
};

class CaptureWalk {
public:
    struct Counts {
        std::uint64_t packets = 0;    // RoCEv2
        std::uint64_t other = 0;      // anything else
        std::uint64_t icrc_bad = 0;   // of packets
        std::uint64_t malformed = 0;  // of packets, their ICRC right or not to be had
    };

    /// Throws Failure if the file cannot be read.
    explicit CaptureWalk(const std::string& path);

    /// Throws Failure where the capture is damaged or cut short; counts() are of what came before.
    std::optional<SeenPacket> next();

    const Counts& counts() const { return counts_; }

private:
    SeenPacket look_at(const CapturedPacket& captured, const Rocev2Datagram& datagram);

    InputFile file_;
    CaptureReader reader_;
    std::optional<std::uint64_t> first_time_;
    Counts counts_;
};

}  // namespace wireproof::cli
