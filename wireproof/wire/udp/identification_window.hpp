// Decides whether to accept an IPv4 identification that the receiver computed from the ICRC. Of
// 65,536 damaged packets, one would pass if every value were accepted. The check that the value is
// near the last one rejects nearly all of them. Linux counts the identification up by one for each
// packet to the same host, for all programs together. After a pause it adds a random number, at
// most one for each tick of the pause. A second has at most 1000 ticks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "wireproof/base/instant.hpp"

namespace wireproof {

/// The limits of a packet's arrival time: after the wire was last seen empty, and before now.
struct ArrivalTime {
    Instant earliest = {};
    Instant latest = {};
};

class IdentificationWindow {
public:
    /// Without a pause, 256 values are near: packets may overtake each other, and the peer's
    /// counter also counts packets of other programs.
    static constexpr std::uint16_t behind = 32;
    static constexpr std::uint16_t ahead = 223;

    /// Accepts 0 always: senders write 0 if their kernel sets no identification. Also accepts the
    /// first value. A value far from the last accepted one is rejected, unless it is near the value
    /// that was rejected before it: then the peer's counter went on without us.
    bool believes(std::uint16_t identification, const ArrivalTime& came) {
        if (identification == 0) return true;
        if (last_ && !last_->is_near(identification, came)) {
            if (!doubted_ || !doubted_->is_near(identification, came)) {
                doubted_ = Heard{identification, came.earliest};
                return false;
            }
            last_.reset();
        }
        doubted_.reset();
        if (!last_ || last_->distance_to(identification) <= last_->ahead_at(came)) {
            last_ = Heard{identification, came.earliest};
        }
        return true;
    }

private:
    struct Heard {
        std::uint16_t identification = 0;
        Instant since = {};  // the packet did not arrive earlier

        std::uint16_t distance_to(std::uint16_t next) const {
            return static_cast<std::uint16_t>(next - identification);
        }
        /// One more for each millisecond that may have passed. After 65 s every value is near.
        std::uint32_t ahead_at(const ArrivalTime& came) const {
            constexpr std::int64_t nanoseconds_a_tick = 1'000'000;
            constexpr std::int64_t all = UINT16_MAX - behind;
            const std::int64_t ticks = (came.latest - since).nanoseconds() / nanoseconds_a_tick;
            return static_cast<std::uint32_t>(std::clamp<std::int64_t>(ahead + ticks, ahead, all));
        }
        bool is_near(std::uint16_t next, const ArrivalTime& came) const {
            return static_cast<std::uint16_t>(distance_to(next) + behind) <=
                   behind + ahead_at(came);
        }
    };

    std::optional<Heard> last_;
    std::optional<Heard> doubted_;
};

}  // namespace wireproof
