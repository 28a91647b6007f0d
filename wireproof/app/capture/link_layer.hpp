// From a captured frame to the IP datagram of RoCEv2 in it: through the headers of its link type,
// and through tags and tunnels. What hides packets from us is named, so that nobody takes "none
// found" for "none there".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "wireproof/base/pcap.hpp"

namespace wireproof::capture {

struct FrameContent {
    /// Begins with the header of an IP datagram to the UDP port of RoCEv2; points into the frame.
    /// Empty: there is none.
    ConstBytes ip = {};
    /// The virtual network that the addresses belong to, as "vxlan 42"; empty: none has a number.
    std::string network = {};
    /// What may hide a packet of RoCEv2, as "link type 197 (ERF)" or "ESP"; empty: nothing does.
    std::string unread = {};
};

FrameContent open_frame(const CapturedPacket& frame);

/// "ERF", of the list that tcpdump.org keeps; empty: not a common one.
std::string_view link_type_name(std::uint16_t link_type);

}  // namespace wireproof::capture
