// The sender's half of the retry protocol: units that have left and are not acknowledged, and which
// of them must be resent (docs/rules/hippi.md).
//
//      oldest ≤ replay ≤ next        [oldest, replay) has left in this pass, [replay, next) leaves
//                                    again before new units
//
// The same number twice is a notice. The sender has seen the number of the oldest unit once
// already, when it became the oldest, so one more RSEQ with this number requests a replay.
#pragma once

#include <cstdint>

#include "wireproof/base/ring.hpp"
#include "wireproof/base/seq_num.hpp"
#include "wireproof/core/backoff.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/rtt_estimator.hpp"
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
    bool replaying() const { return replay_ < units_.size(); }
    /// True: a unit of the replay may leave now.
    bool resend_due() const { return replaying() && replay_ < backoff_.window(); }
    /// True: a new unit may leave now, because fewer than w_max are outstanding (HIPPI-5).
    bool has_room() const {
        return !replaying() && !units_.full() && units_.size() < backoff_.window();
    }
    const Unanswered& unanswered() const { return backoff_.unanswered(); }
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
    Duration retry_limit() const { return backoff_.wait(timer_.limit()); }
    bool guarded(Instant now) const;

    Circle circle_;
    Number first_;
    bool guard_;
    Duration loop_;
    RttEstimator timer_;
    Backoff backoff_;
    std::uint32_t retries_max_;

    Number oldest_;
    Ring<Unit> units_;         // units_[i] has the number oldest_ + i
    std::size_t replay_ = 0;   // index of the next unit to resend; the size: no replay
    bool acted_on_ = false;    // a replay from this oldest_ has begun
    Instant guarded_until_{};  // one loop after the first unit of that replay left
    std::uint32_t retries_ = 0;
    Instant deadline_ = never;
};

}  // namespace wireproof::hippi
