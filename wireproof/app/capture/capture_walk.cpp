#include "wireproof/app/capture/capture_walk.hpp"

#include <algorithm>

#include "wireproof/core/packet_marks.hpp"

namespace wireproof::capture {
namespace {

/// The time from the first to the second in seconds; negative if the second is earlier. Arguments
/// in nanoseconds.
double seconds_from(std::uint64_t first, std::uint64_t second) {
    const bool earlier = second < first;
    const std::uint64_t apart = earlier ? first - second : second - first;
    return static_cast<double>(apart) * (earlier ? -1e-9 : 1e-9);
}

/// Whether the packet has all headers that its opcode requires.
bool headers_are_there(ConstBytes packet) {
    if (packet.size() < proto::ib::Bth::size) return false;
    const proto::ib::Opcode* opcode =
        proto::ib::find_opcode(std::to_integer<std::uint8_t>(packet[0]));
    return opcode == nullptr || packet.size() >= proto::ib::Bth::size + opcode->extended_size();
}

}  // namespace

Expected<std::optional<SeenPacket>> CaptureWalk::next() {
    while (true) {
        if (auto segment = next_segment()) return segment;
        const auto captured = reader_.next();
        if (!captured) return tl::unexpected(captured.error());
        if (!*captured) return std::nullopt;
        if (auto seen = look_at(**captured)) return seen;
        ++counts_.other;
    }
}

std::optional<SeenPacket> CaptureWalk::look_at(const CapturedPacket& captured) {
    if (!first_time_) first_time_ = captured.time;
    if (captured.time_above_unit) ++counts_.time_above_unit;
    FrameContent content = open_frame(captured);
    if (!content.unread.empty()) ++counts_.unread[content.unread];
    if (content.ip.empty()) return std::nullopt;
    const bool cut = captured.bytes.size() < captured.length;
    const auto datagram = cut ? Rocev2Datagram::find_in_cut_ip(content.ip, rocev2_port)
                              : Rocev2Datagram::find_in_ip(content.ip, rocev2_port);
    if (!datagram && datagram.error() == NotRocev2::other) return std::nullopt;

    SeenPacket seen{.number = captured.number,
                    .network = std::move(content.network),
                    .comment = captured.comment,
                    .place = {captured.interface, content.place},
                    .logged = captured.application == packet_log_application};
    seen.lost = seen.logged && says_lost(seen.comment);
    if (captured.time && first_time_) seen.seconds = seconds_from(*first_time_, *captured.time);
    if (datagram && !datagram->icrc_right()) segments_ = Rocev2Segments::of(*datagram);
    if (segments_) {
        their_packet_ = std::move(seen);
        next_place_ = 0;
        return next_segment();
    }
    ++counts_.packets;
    if (datagram) {
        look_into(*datagram, seen);
    } else {
        if (cut && datagram.error() == NotRocev2::cut_short) {
            ++counts_.cut;
            seen.icrc = IcrcState::not_captured;
            seen.malformed = "headers not captured";
        } else {
            ++counts_.malformed;
            seen.malformed = name_of(datagram.error());
        }
    }
    return seen;
}

std::optional<SeenPacket> CaptureWalk::next_segment() {
    if (!segments_) return std::nullopt;
    if (next_place_ == segments_->count()) {
        segments_.reset();
        return std::nullopt;
    }
    SeenPacket seen = their_packet_;
    their_packet_.comment = {};
    ++counts_.packets;
    look_into(segments_->at(next_place_++), seen);
    return seen;
}

void CaptureWalk::look_into(const Rocev2Datagram& datagram, SeenPacket& seen) {
    seen.datagram = datagram;
    ConstBytes bytes = datagram.packet;
    if (datagram.missing > 0) {
        ++counts_.cut;
        seen.icrc = IcrcState::not_captured;
        if (!headers_are_there(bytes)) {
            seen.malformed = "headers not captured";
            return;
        }
        bytes = with_zeros(datagram);
    } else {
        seen.icrc = datagram.icrc_right() ? IcrcState::right : IcrcState::wrong;
    }
    const auto packet = proto::ib::Packet::decode({.bytes = bytes});
    if (!packet) {
        seen.malformed = name_of(packet.error());
    } else if (!packet->padded_right()) {
        seen.malformed = "pad that does not make whole words";
    } else {
        seen.packet = *packet;
    }
    // A damaged packet may contain anything, so it does not count as malformed.
    if (seen.icrc == IcrcState::wrong) {
        ++counts_.icrc_bad;
    } else if (!seen.packet) {
        ++counts_.malformed;
    }
}

ConstBytes CaptureWalk::with_zeros(const Rocev2Datagram& datagram) {
    room_.assign(datagram.packet_size(), std::byte{0});
    std::ranges::copy(datagram.packet, room_.begin());
    return room_;
}

}  // namespace wireproof::capture
