// The sender of a go-back-N protocol: which numbers are unacknowledged, which of these frames
// leaves again next, how many may leave, and how long to wait for an answer. The protocol keeps the
// frames, their marks, the timer and the count of replays.
//
//      oldest ≤ cursor ≤ next        [oldest, cursor) has left in this replay;
//                                    [cursor, next) leaves again before a new frame
//
// Index 0 is the oldest unacknowledged frame. The number of a frame follows from its index, so a
// replay does not change it, and a wrap of the numbers does not matter.
#pragma once

#include <algorithm>
#include <optional>

#include "wireproof/base/seq_num.hpp"
#include "wireproof/core/backoff.hpp"
#include "wireproof/core/rtt_estimator.hpp"

namespace wireproof {

struct GoBackNTerms {
    std::uint64_t modulus = 0;
    std::uint32_t first = 0;  // number of the first frame
    Duration wait;            // these two as for RttEstimator
    Duration wait_floor;
    bool backs_off = false;
};

template <class Tag>
class GoBackN {
public:
    using Number = SeqNum<Tag>;

    explicit GoBackN(const GoBackNTerms& terms)
        : circle_(terms.modulus),
          first_(terms.first),
          oldest_(first_),
          rtt_(terms.wait, terms.wait_floor),
          backoff_(terms.backs_off) {}

    std::size_t outstanding() const { return sent_; }
    Number number_of(std::size_t index) const { return circle_.advance(oldest_, index); }
    Number next() const { return number_of(sent_); }
    Number acknowledged() const { return circle_.advance(oldest_, circle_.modulus() - 1); }

    /// How many frames an answer frees that names the last frame which arrived. Nothing: there is
    /// no such number, or its frame is not outstanding and was not the last to be acknowledged.
    std::optional<std::size_t> freed_by_last(std::uint32_t number) const {
        return freed_by(number, acknowledged());
    }
    /// The same for an answer that names the frame which is expected next.
    std::optional<std::size_t> freed_by_expected(std::uint32_t number) const {
        return freed_by(number, oldest_);
    }
    /// The peer has the oldest `count` frames, 1 or more. A replay does not send them again.
    void free(Instant now, std::size_t count) {
        WIREPROOF_CHECK(count <= sent_);
        oldest_ = circle_.advance(oldest_, count);
        sent_ -= count;
        cursor_ -= std::min(cursor_, count);
        rtt_.freed(now, count);
        backoff_.answered(count);
    }

    /// True: a new frame must not leave now, because `most` or more are outstanding.
    bool window_full(std::size_t most) const { return sent_ >= std::min(most, backoff_.window()); }
    /// A new frame leaves. No replay is under way.
    void send(Instant now) {
        WIREPROOF_CHECK(!replaying());
        cursor_ = ++sent_;
        rtt_.sent(now, sent_);
    }

    /// From the oldest frame on. At least one frame is outstanding.
    void begin_replay(Instant now) {
        rtt_.resent();
        backoff_.retransmits(now);
        cursor_ = 0;
    }
    bool replaying() const { return cursor_ < sent_; }
    /// The rest of the replay waits until the frames that have left are acknowledged.
    bool replay_held() const { return replaying() && cursor_ >= backoff_.window(); }
    /// The index of the frame that the replay sends next.
    std::size_t cursor() const { return cursor_; }
    /// That frame leaves, with `bytes` bytes.
    void resend(std::size_t bytes) {
        WIREPROOF_CHECK(replaying());
        if (cursor_++ == 0) backoff_.oldest_left(bytes);
    }
    /// The rest of the replay is not sent.
    void end_replay() { cursor_ = sent_; }

    /// How long to wait for an answer.
    Duration wait() const { return backoff_.wait(rtt_.limit()); }
    /// Whether a negative answer begins a replay. If not, only the timer does.
    bool acts_on_notice() const { return backoff_.acts_on_notice(); }
    const Unanswered& unanswered() const { return backoff_.unanswered(); }

    /// The outstanding frames are lost. The numbers go on.
    void forget() {
        oldest_ = next();
        sent_ = cursor_ = 0;
        rtt_.forget();
        backoff_.reset();
    }
    void reset() {
        forget();
        oldest_ = first_;
    }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(oldest_.value());
        sink.add(sent_);
        sink.add(cursor_);
        rtt_.fingerprint(now, sink);
        backoff_.fingerprint(sink);
    }

private:
    std::optional<std::size_t> freed_by(std::uint32_t number, Number from) const {
        if (!circle_.holds(number)) return std::nullopt;
        const std::size_t steps = circle_.steps_after(Number(number), from);
        if (steps > sent_) return std::nullopt;
        return steps;
    }

    Circle circle_;
    Number first_;
    Number oldest_;
    std::size_t sent_ = 0;
    std::size_t cursor_ = 0;  // sent_: no replay is under way
    RttEstimator rtt_;
    Backoff backoff_;
};

}  // namespace wireproof
