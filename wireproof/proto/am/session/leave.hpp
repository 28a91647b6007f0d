// How an end leaves (AM-55). Its last acknowledgement may be lost, and the peer then waits for an
// end that is gone. So the end that leaves says so to the peer, in questions that carry its
// acknowledgements, until the peer answers. Sender asks and sets the timer.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/instant.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::am {

class Leave {
public:
    /// So many questions, each with the acknowledgements, rarely get all lost. More would only
    /// delay an end whose peer is gone.
    static constexpr std::uint32_t questions_max = 6;

    // This end leaves.

    /// `first`: the wait after the first question. It doubles, up to `longest`.
    void begin(Duration first, Duration longest) {
        stage_ = Stage::asks;
        asked_ = 0;
        wait_ = first;
        longest_ = std::max(first, longest);
    }
    bool begun() const { return stage_ != Stage::stays; }
    /// A question is to leave.
    bool due() const { return stage_ == Stage::asks; }
    /// A question has left. Returns how long to wait for its answer.
    Duration asked() {
        stage_ = Stage::waits;
        ++asked_;
        const Duration wait = wait_;
        wait_ = std::min(wait_ * 2, longest_);
        return wait;
    }
    /// Nothing was heard for that time.
    void unanswered() {
        if (stage_ == Stage::waits) stage_ = asked_ < questions_max ? Stage::asks : Stage::done;
    }
    /// The peer has the acknowledgements.
    void answered() {
        if (stage_ != Stage::stays && asked_ > 0) stage_ = Stage::done;
    }
    bool ended() const { return stage_ == Stage::done || peer_leaves_; }

    // The peer leaves.

    /// The peer has no message that is unacknowledged, so it needs no acknowledgement.
    void peer_left() {
        peer_leaves_ = true;
        if (stage_ != Stage::stays) stage_ = Stage::done;
    }
    /// It has sent another message after all.
    void peer_stays() { peer_leaves_ = false; }
    bool peer_leaves() const { return peer_leaves_; }

    void fingerprint(Fingerprint& sink) const {
        sink.add(stage_);
        sink.add(peer_leaves_);
        if (stage_ != Stage::asks && stage_ != Stage::waits) return;
        sink.add(asked_);
        sink.add(wait_);
        sink.add(longest_);
    }

private:
    enum class Stage : std::uint8_t { stays, asks, waits, done };

    Stage stage_ = Stage::stays;
    bool peer_leaves_ = false;
    std::uint32_t asked_ = 0;
    Duration wait_;
    Duration longest_;
};

}  // namespace wireproof::am
