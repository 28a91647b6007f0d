// What the program asked for and what of it has not left: when a turn is due for it (AM-21), and
// how long a turn may hold messages back so that more leave with them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "wireproof/proto/am/config.hpp"

namespace wireproof::am {

class Waiting {
public:
    explicit Waiting(const Config& config)
        : turn_every_(config.poll_every), hold_for_(config.coalesce_for) {}

    /// The program has asked a peer for something, whatever became of it.
    void asked() { ++asked_; }
    /// What it asked for is queued.
    void queued() { queued_ = true; }

    /// True: so much was asked for that a turn is due.
    bool wants_turn() const { return asked_ >= turn_every_; }
    bool any_asked() const { return asked_ > 0; }
    /// Messages wait for their first turn, or the last turn has held some back.
    bool keeps_back() const { return queued_ || held_since_ != never; }

    /// A turn begins, so long after the one before. True: it may hold messages back, because the
    /// program makes new ones.
    bool begin_turn(Duration since) { return std::exchange(queued_, false) && since < hold_for_; }
    /// The turn has taken what was asked for before it.
    void taken() { asked_ = 0; }
    /// All has left.
    void left() {
        asked_ = 0;
        queued_ = false;
    }
    /// Messages are sent without a turn.
    void pushed() { queued_ = false; }

    /// Since when the messages wait that are held back at `now`.
    Instant held_since(Instant now) const { return std::min(held_since_, now); }
    /// Messages have been sent. Some are held back, since then; never: none.
    void sent(Instant held_since) { held_since_ = held_since; }

private:
    std::uint32_t turn_every_;
    Duration hold_for_;
    std::uint32_t asked_ = 0;  // calls since the last turn
    bool queued_ = false;      // since the last turn
    Instant held_since_ = never;
};

}  // namespace wireproof::am
