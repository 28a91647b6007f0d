// Which IPv4 identifications are believed of a peer, where they were worked out from the ICRC that
// covers them. Any one would explain one damaged packet in 65,536; few do, if it must come near the
// one before: Linux counts up by one for each packet to the same host, of whatever program.
#pragma once

#include <cstdint>
#include <optional>

namespace wireproof {

class IdentificationWindow {
public:
    /// 256 in all, for some packets overtake others, and some are not for us.
    static constexpr std::uint16_t behind = 32;
    static constexpr std::uint16_t ahead = 223;

    /// 0 is what senders have whose kernel is told to leave it so, and is always believed, and so
    /// is the first. One that is far from the last is not, unless it is near the one that was not
    /// believed before it: then the peer's counter went on without us.
    bool believes(std::uint16_t identification) {
        if (identification == 0) return true;
        if (last_ && !is_near(*last_, identification)) {
            if (!doubted_ || !is_near(*doubted_, identification)) {
                doubted_ = identification;
                return false;
            }
            last_.reset();
        }
        doubted_.reset();
        const bool newer = !last_ || static_cast<std::uint16_t>(identification - *last_) <= ahead;
        if (newer) last_ = identification;
        return true;
    }

private:
    static bool is_near(std::uint16_t last, std::uint16_t identification) {
        return static_cast<std::uint16_t>(identification - last + behind) <= behind + ahead;
    }

    std::optional<std::uint16_t> last_;
    std::optional<std::uint16_t> doubted_;
};

}  // namespace wireproof
