// The sender's half of the retry protocol: units that have left and are not acknowledged, and which
// of them must be resent (docs/rules/hippi.md).
//
// The same number twice is a notice. The sender has seen the number of the oldest unit once
// already, when it became the oldest, so one more RSEQ with this number requests a replay.
#pragma once

#include <cstdint>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/go_back_n.hpp"
#include "wireproof/proto/hippi/config.hpp"

namespace wireproof::hippi {

struct UnitTag;
using Number = SeqNum<UnitTag>;

/// A unit to be sent. Its control word is complete except for RSEQ and LCRC, which each sending
/// sets.
struct Unit {
    Control control;
    ConstBytes lent{};  // its data in the message, if they are whole there; else in `copy`
    DataBytes copy{};

    ConstBytes data() const { return lent.empty() ? ConstBytes(copy) : lent; }
};

class RetransmitBuffer {
public:
    /// The meaning of an RSEQ.
    enum class Heard : std::uint8_t {
        nothing,    // no unit is outstanding, or it only acknowledges
        progress,   // units were freed
        replay,     // a replay begins
        guarded,    // the second copy of a notice, which is ignored
        impossible  // a number that was never sent, or freed long ago
    };

    explicit RetransmitBuffer(const Config& config);

    bool empty() const { return units_.empty(); }
    std::size_t outstanding() const { return units_.size(); }
    bool replaying() const { return retry_.replaying(); }
    /// True: a unit of the replay may leave now.
    bool resend_due() const { return replaying() && !retry_.replay_held(); }
    /// True: a new unit may leave now, because fewer than w_max are outstanding (HIPPI-5).
    bool has_room() const { return !replaying() && !retry_.window_full(units_.capacity()); }
    const Unanswered& unanswered() const { return retry_.unanswered(); }
    std::uint32_t retries() const { return retries_; }
    Instant deadline() const { return deadline_; }

    /// `negative`: an RSEQ that names the oldest unit requests a replay. That of a status null does
    /// not.
    Heard on_rseq(Instant now, std::uint8_t rseq, bool negative);

    /// The timer has expired. False: too often; the link must be reset.
    bool on_timeout(Instant now);

    /// Stores a new unit with the next number; the caller sends it now. There must be room and no
    /// replay.
    const Unit& send(Instant now, const Unit& unit);
    /// The next unit of a replay; the caller sends it now.
    const Unit& resend(Instant now);

    void reset();
    void fingerprint(Instant now, Fingerprint& sink) const;

private:
    void begin_replay(Instant now);
    bool guarded(Instant now) const;

    bool guard_;
    Duration loop_;
    std::uint32_t retries_max_;

    GoBackN<UnitTag> retry_;
    Ring<Unit> units_;         // the outstanding ones
    bool acted_on_ = false;    // a replay from the present oldest unit has begun
    Instant guarded_until_{};  // one loop after the first unit of that replay left
    std::uint32_t retries_ = 0;
    Instant deadline_ = never;
};

}  // namespace wireproof::hippi
