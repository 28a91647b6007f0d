// The sender's half of the retry protocol: units that have left and are not acknowledged, and which
// of them leaves again (docs/rules/hippi.md).
//
//      oldest ≤ replay ≤ next        [oldest, replay) has left in this pass, [replay, next) leaves
//                                    again before anything new does
//
// The same number seen twice is a negative notice. The oldest became the oldest because its number
// was seen, so one more RSEQ that names it asks for a replay.
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

/// A unit as it leaves: all of its control word but RSEQ and LCRC, which are of each departure.
struct Unit {
    Control control;
    ConstBytes lent{};  // its data where the message lies, if whole there; else `copy` has them
    DataBytes copy{};

    ConstBytes data() const { return lent.empty() ? ConstBytes(copy) : lent; }
};

class RetransmitBuffer {
public:
    /// What an RSEQ meant.
    enum class Heard : std::uint8_t {
        nothing,    // none outstanding, or an acknowledgement that may not be negative
        progress,   // units were freed
        replay,     // a replay begins
        guarded,    // the second copy of a notice that was heeded
        impossible  // a number never sent, or freed long ago
    };

    explicit RetransmitBuffer(const Config& config);

    bool empty() const { return units_.empty(); }
    std::size_t outstanding() const { return units_.size(); }
    bool replaying() const { return replay_ < units_.size(); }
    /// A unit of the replay may leave now.
    bool resend_due() const { return replaying() && replay_ < backoff_.window(); }
    /// A new unit may leave now: fewer than w_max are outstanding (HIPPI-5).
    bool has_room() const {
        return !replaying() && !units_.full() && units_.size() < backoff_.window();
    }
    const Unanswered& unanswered() const { return backoff_.unanswered(); }
    std::uint32_t retries() const { return retries_; }
    Instant deadline() const { return deadline_; }

    /// `negative`: RSEQ of the oldest asks for a replay; that of a status null does not.
    Heard on_rseq(Instant now, std::uint8_t rseq, bool negative);

    /// The timer has run out. False: too often, the link must be reset.
    bool on_timeout(Instant now);

    /// Keeps a new unit under the next number: it leaves now. There must be room, and no replay.
    const Unit& send(Instant now, const Unit& unit);
    /// The next unit of a replay: it leaves now.
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
    std::size_t replay_ = 0;   // index of the next to leave again; the size: no replay
    bool heeded_ = false;      // a replay from this very oldest_ has begun
    Instant guarded_until_{};  // one loop after that replay's first unit left
    std::uint32_t retries_ = 0;
    Instant deadline_ = never;
};

}  // namespace wireproof::hippi
