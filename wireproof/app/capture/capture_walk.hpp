// A capture packet by packet, as far as RoCEv2 is concerned: what is such a packet, is its ICRC
// right, does it decode; and what was not read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/app/capture/link_layer.hpp"
#include "wireproof/base/pcap.hpp"
#include "wireproof/proto/ib/packet.hpp"
#include "wireproof/wire/udp/rocev2_segments.hpp"

namespace wireproof::capture {

/// Whether the ICRC that a packet came with is that of its bytes.
enum class IcrcState : std::uint8_t {
    right,
    wrong,
    not_captured,  // the snap length cut it off
};

/// A RoCEv2 packet of a capture, or what claims to be one. Lent until the next.
struct SeenPacket {
    std::uint64_t number = 0;            // in the file, from 1; segments of one have the same
    std::optional<double> seconds = {};  // since the file's first packet
    Rocev2Datagram datagram = {};        // as far as it could be read
    std::string network = {};            // of a tunnel, as open_frame() names it
    IcrcState icrc = IcrcState::wrong;
    /// Nothing: malformed. Where the end was not captured, zeros stand for it.
    std::optional<proto::ib::Packet> packet = {};
    std::string_view malformed = {};  // why
    std::string_view comment = {};    // of whoever captured it; anything may stand there

    /// Whether its receiver would have acted on it, as far as can be known.
    bool believed() const { return packet && icrc != IcrcState::wrong; }
};

class CaptureWalk {
public:
    struct Counts {
        std::uint64_t packets = 0;    // RoCEv2
        std::uint64_t other = 0;      // anything else, what was not read included
        std::uint64_t cut = 0;        // of packets, without their ICRC by the snap length
        std::uint64_t icrc_bad = 0;   // of packets
        std::uint64_t malformed = 0;  // of packets, their ICRC right or not to be had
        /// By what may hide packets of RoCEv2, how many frames: "link type 197 (ERF)" -> 12.
        std::map<std::string, std::uint64_t> unread = {};
    };

    explicit CaptureWalk(CaptureReader::Read read) : reader_(std::move(read)) {}

    /// Nothing at the end. After an error, one line that names the packet, there is no next;
    /// counts() are then of what came before. What `read` throws passes through.
    Expected<std::optional<SeenPacket>> next();

    const Counts& counts() const { return counts_; }

private:
    std::optional<SeenPacket> look_at(const CapturedPacket& captured);
    std::optional<SeenPacket> next_segment();
    void look_into(const Rocev2Datagram& datagram, SeenPacket& seen);
    ConstBytes with_zeros(const Rocev2Datagram& datagram);

    CaptureReader reader_;
    std::optional<Rocev2Segments> segments_;  // of a super-packet that was captured whole
    std::size_t next_place_ = 0;
    SeenPacket their_packet_;  // what they have in common
    std::optional<std::uint64_t> first_time_;
    std::vector<std::byte> room_;  // for a packet whose end is missing
    Counts counts_;
};

}  // namespace wireproof::capture
