#include "wireproof/app/capture/copy_finder.hpp"

#include <cmath>

namespace wireproof::capture {
namespace {

// A copy at the same place comes from a mirror port, which sends it at once. A copy at another
// place may have waited in a queue. The timers of senders wait longer: most wait for milliseconds.
constexpr double same_place_max = 100e-6;  // seconds
constexpr double other_place_max = 1000e-6;

unsigned octet_at(ConstBytes bytes, std::size_t at) {
    return at < bytes.size() ? std::to_integer<unsigned>(bytes[at]) : 0;
}

bool is_ipv4(const Rocev2Datagram& datagram) {
    return octet_at(datagram.headers, 0) >> 4 == 4;
}

/// Hops that the packet may still go.
unsigned hops_of(const Rocev2Datagram& datagram) {
    return octet_at(datagram.headers, is_ipv4(datagram) ? 8 : 7);
}

/// All that the ICRC covers, and the ICRC.
Fingerprint::Value content_of(const SeenPacket& seen) {
    constexpr std::size_t identification = 4;
    constexpr std::size_t congestion = 4;  // of the base header; routers may change it
    const Rocev2Datagram& datagram = seen.datagram;
    Fingerprint content;
    content.add_bytes(std::as_bytes(std::span(seen.network)));
    content.add_bytes(std::as_bytes(std::span(datagram.from.host)));
    content.add_bytes(std::as_bytes(std::span(datagram.to.host)));
    content.add(datagram.from.port);
    if (is_ipv4(datagram)) {
        content.add(octet_at(datagram.headers, identification));
        content.add(octet_at(datagram.headers, identification + 1));
    }
    const std::size_t before = std::min(congestion, datagram.packet.size());
    content.add_bytes(datagram.packet.first(before));
    content.add_bytes(datagram.packet.subspan(std::min(before + 1, datagram.packet.size())));
    content.add(datagram.missing);
    content.add(datagram.icrc);
    return content.value();
}

}  // namespace

std::optional<std::uint64_t> CopyFinder::on_packet(const SeenPacket& seen, std::size_t route) {
    if (!seen.seconds) return std::nullopt;
    const auto known = first_.find(content_of(seen));
    if (known == first_.end() || known->second.reasons != reasons_[route]) return std::nullopt;
    const First& first = known->second;
    const bool same = first.place == seen.place && first.hops == hops_of(seen.datagram);
    const double apart = std::abs(*seen.seconds - first.seconds);
    if (apart > (same ? same_place_max : other_place_max)) return std::nullopt;
    return first.number;
}

void CopyFinder::note(const SeenPacket& seen, std::size_t route) {
    if (!seen.seconds) return;
    const Fingerprint::Value content = content_of(seen);
    first_.insert_or_assign(content, First{.number = seen.number,
                                           .seconds = *seen.seconds,
                                           .place = seen.place,
                                           .hops = hops_of(seen.datagram),
                                           .reasons = reasons_[route]});
    listed_.push_back({content, seen.number, *seen.seconds});
    while (listed_.size() > first_max ||
           std::abs(*seen.seconds - listed_.front().seconds) > 2 * other_place_max) {
        const auto oldest = first_.find(listed_.front().content);
        if (oldest != first_.end() && oldest->second.number == listed_.front().number) {
            first_.erase(oldest);
        }
        listed_.pop_front();
    }
}

}  // namespace wireproof::capture
