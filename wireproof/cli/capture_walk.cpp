#include "wireproof/cli/capture_walk.hpp"

#include <fmt/format.h>

#include "wireproof/cli/interrupt.hpp"
#include "wireproof/cli/verbs.hpp"

namespace wireproof::cli {

CaptureWalk::CaptureWalk(const std::string& path)
    : file_(path),
      reader_(file_.size(), [this](std::uint64_t offset, Bytes to) { file_.read(offset, to); }) {}

std::optional<SeenPacket> CaptureWalk::next() {
    while (true) {
        check_interrupt();
        const auto captured = reader_.next();
        if (!captured) {
            throw Failure(fmt::format("{}: {}", file_.path(), captured.error().message));
        }
        if (!*captured) return std::nullopt;
        const CapturedPacket& one = **captured;
        if (!first_time_) first_time_ = one.time;
        auto found = one.link_type == link_type_ethernet
                         ? Rocev2Datagram::find(one.bytes)
                         : tl::unexpected<NotRocev2>(NotRocev2::other);
        if (found) return look_at(one, *found);
        if (found.error() != NotRocev2::other) {
            SeenPacket seen = look_at(one, {});
            seen.malformed = name_of(found.error());
            return seen;
        }
        ++counts_.other;
    }
}

SeenPacket CaptureWalk::look_at(const CapturedPacket& captured, const Rocev2Datagram& datagram) {
    ++counts_.packets;
    SeenPacket seen{.number = captured.number, .datagram = datagram};
    if (captured.time && first_time_) {
        const bool earlier = *captured.time < *first_time_;
        const std::uint64_t apart =
            earlier ? *first_time_ - *captured.time : *captured.time - *first_time_;
        seen.seconds = static_cast<double>(apart) * (earlier ? -1e-9 : 1e-9);
    }
    if (datagram.packet.empty()) {
        ++counts_.malformed;
        return seen;
    }
    seen.icrc_right = datagram.icrc_right();
    const auto packet = ib::Packet::decode({.bytes = datagram.packet});
    if (!packet) {
        seen.malformed = name_of(packet.error());
    } else if (!packet->padded_right()) {
        seen.malformed = "pad that does not make whole words";
    } else {
        seen.packet = *packet;
    }
    // What was damaged on its way may read as anything.
    if (!seen.icrc_right) {
        ++counts_.icrc_bad;
    } else if (!seen.packet) {
        ++counts_.malformed;
    }
    return seen;
}

}  // namespace wireproof::cli
