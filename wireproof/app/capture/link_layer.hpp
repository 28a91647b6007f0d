// Finds the IP datagram of RoCEv2 in a captured frame: goes through the headers of the link type,
// and through tags and tunnels. If something may hide packets, the result names it, so that "none
// found" is not mistaken for "none there".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wireproof/base/pcap.hpp"

namespace wireproof::capture {

struct FrameContent {
    /// Begins with the header of an IP datagram to the UDP port of RoCEv2; points into the frame.
    /// Empty: the frame has none.
    ConstBytes ip = {};
    /// The virtual network of the addresses, for example "vxlan 42"; empty: no network number.
    std::string network = {};
    /// The reason why a RoCEv2 packet may be hidden, for example "link type 197 (ERF)" or "ESP";
    /// empty: none.
    std::string unread = {};
    /// The interface and the direction in which a capture on all interfaces saw the frame; 0: the
    /// link type does not tell them. Only whether two are equal matters.
    std::uint64_t place = 0;
};

FrameContent open_frame(const CapturedPacket& frame);

/// The name in the list of tcpdump.org, for example "ERF"; empty: not a common one.
std::string_view link_type_name(std::uint16_t link_type);

}  // namespace wireproof::capture
