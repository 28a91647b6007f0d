// Which IPv4 identifications are believed of a peer, where they were worked out from the ICRC that
// covers them. Any one would explain one damaged packet in 65,536; few do, if it must come near the
// one before. Linux counts up by one for each packet to the same host, of whatever program; after a
// pause it adds a random number of up to as many ticks as the pause had, 1000 a second at most.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "wireproof/base/instant.hpp"

namespace wireproof {

/// When a packet came, as far as is known: after the wire was last seen empty, and before now.
struct ArrivalTime {
    Instant earliest = {};
    Instant latest = {};
};

class IdentificationWindow {
public:
    /// 256 in all without a pause, for some packets overtake others, and some are not for us.
    static constexpr std::uint16_t behind = 32;
    static constexpr std::uint16_t ahead = 223;

    /// 0 is what senders have whose kernel is told to leave it so, and is always believed, and so
    /// is the first. One that is far from the last is not, unless it is near the one that was not
    /// believed before it: then the peer's counter went on without us.
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
        Instant since = {};  // it did not come earlier

        std::uint16_t distance_to(std::uint16_t next) const {
            return static_cast<std::uint16_t>(next - identification);
        }
        /// One more for each millisecond that may have passed; after 65 s any is near.
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
