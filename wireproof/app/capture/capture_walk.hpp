// Reads a capture packet by packet: which packets are RoCEv2, whether their ICRC is right, whether
// they decode, and what could not be read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wireproof/app/capture/link_layer.hpp"
#include "wireproof/base/pcap.hpp"
#include "wireproof/proto/ib/packet/packet.hpp"
#include "wireproof/wire/udp/rocev2_segments.hpp"

namespace wireproof::capture {

/// Whether the ICRC of a packet matches its bytes.
enum class IcrcState : std::uint8_t {
    right,
    wrong,
    not_captured,  // the snap length cut it off
};

/// A RoCEv2 packet of a capture, or a packet to its port. Valid until the next call.
struct SeenPacket {
    std::uint64_t number = 0;            // in the file, from 1; the same for all segments of one
    std::optional<double> seconds = {};  // since the file's first packet
    Rocev2Datagram datagram = {};        // as far as it could be read
    std::string network = {};            // of a tunnel, with the name from open_frame()
    IcrcState icrc = IcrcState::wrong;
    /// Empty: malformed. If the end was not captured, zeros replace it.
    std::optional<proto::ib::Packet> packet = {};
    std::string_view malformed = {};  // why the packet is malformed
    std::string_view comment = {};    // from the program that captured it; may contain anything
    /// Where the capture saw it: interface and direction. Only whether two are equal matters.
    std::pair<std::uint32_t, std::uint64_t> place = {};
    /// The log of `wireproof verbs` has it: each packet stands there as often as it was sent.
    bool logged = false;
    /// The log says that the packet was lost.
    bool lost = false;

    /// Whether the receiver would have accepted it, as far as the capture shows.
    bool believed() const { return packet && icrc != IcrcState::wrong; }
};

class CaptureWalk {
public:
    struct Counts {
        std::uint64_t packets = 0;    // RoCEv2
        std::uint64_t other = 0;      // all other packets, including those that were not read
        std::uint64_t cut = 0;        // packets whose ICRC the snap length cut off
        std::uint64_t icrc_bad = 0;   // of packets
        std::uint64_t malformed = 0;  // packets whose ICRC is right or was not captured
        std::uint64_t time_above_unit =
            0;  // all packets of the file without a time for this reason
        /// How many frames may hide packets of RoCEv2, by the reason: "link type 197 (ERF)" -> 12.
        std::map<std::string, std::uint64_t> unread = {};
    };

    explicit CaptureWalk(CaptureReader::Read read) : reader_(std::move(read)) {}

    /// Empty at the end. An error is one line that names the packet; do not call next() after it.
    /// counts() are then those of the packets before. Exceptions of `read` pass through.
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
    SeenPacket their_packet_;  // the fields that all segments share
    std::optional<std::uint64_t> first_time_;
    std::vector<std::byte> room_;  // for a packet whose end is missing
    Counts counts_;
};

}  // namespace wireproof::capture
