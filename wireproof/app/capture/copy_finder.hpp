// Finds copies: a packet that the capture has more than once although it was sent once, because the
// capture listens at several places of its way (all interfaces of a host, a mirror port). A copy
// has the same bytes, except those that routers change, and comes shortly after the first one. A
// sender that sends a packet again has a reason, which the capture shows, or has waited for a
// timer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "wireproof/app/capture/capture_walk.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::capture {

class CopyFinder {
public:
    /// The number of the packet of which this one is a copy; nothing: of none. `route` stands for
    /// sender and receiver. Packets without a time are no copies.
    std::optional<std::uint64_t> on_packet(const SeenPacket& seen, std::size_t route);

    /// The sender of this route has a reason to send again what it has sent. Equal packets are then
    /// no copies.
    void expect_again(std::size_t route) { ++reasons_[route]; }

    /// Call it after the packet was followed, if it is no copy.
    void note(const SeenPacket& seen, std::size_t route);

private:
    struct First {
        std::uint64_t number = 0;
        double seconds = 0;
        std::pair<std::uint32_t, std::uint64_t> place = {};
        unsigned hops = 0;
        std::uint64_t reasons = 0;
    };
    struct Listed {
        Fingerprint::Value content;
        std::uint64_t number = 0;
        double seconds = 0;
    };
    static constexpr std::size_t first_max = 1 << 16;

    std::map<Fingerprint::Value, First> first_;
    std::deque<Listed> listed_;  // in the order of the file; some may be replaced in first_
    std::map<std::size_t, std::uint64_t> reasons_;  // by route
};

}  // namespace wireproof::capture
