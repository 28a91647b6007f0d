// Decides which of a thread's empty polls may sleep. A program may poll several completion queues,
// also of several contexts, one after the other. If each empty poll slept, a packet for one queue
// would wait for the sleeps of all others. So a thread sleeps again only after it has looked at all
// queues that it has polled since something arrived.
#pragma once

#include <cstdint>

#include "wireproof/base/instant.hpp"

namespace wireproof::verbs {

/// Each thread has one, for the one device of its process. All calls are made under the device's
/// lock.
class PollRound {
public:
    /// The most that a thread sleeps in a round. The device page of the guide states it.
    static constexpr Duration sleep_most = Duration::microseconds(200);
    /// A thread may stop polling a queue, such as the one for its sends when no send is under way.
    /// After this many polls that would have slept, the round ends without such queues.
    static constexpr std::uint32_t refused_most = 64;

    /// What all threads share. No two rounds of a device have the same number, because two threads
    /// may poll one queue.
    class Shared {
    public:
        /// Something has arrived, or was done. Threads may poll other queues than before.
        void heard() { ++heard_; }

    private:
        friend class PollRound;
        std::uint64_t heard_ = 1;
        std::uint64_t rounds_ = 0;
    };
    /// What a completion queue knows: in which round, and since which beginning, it was polled.
    class Seen {
        friend class PollRound;
        std::uint64_t round_ = 0;
        std::uint64_t began_ = 0;
    };

    /// The thread has looked at the queue and found nothing.
    void looked(Seen& queue, Shared& shared) {
        if (heard_ != shared.heard_) begin(shared);
        if (queue.began_ != began_) ++queues_;
        if (queue.round_ != round_) ++looked_at_;
        queue.began_ = began_;
        queue.round_ = round_;
    }
    /// After looked(), in a poll that would sleep.
    bool may_sleep() { return looked_at_ == queues_ || ++refused_ > refused_most; }
    /// The poll has slept.
    void slept(Shared& shared) {
        if (looked_at_ < queues_) return begin(shared);
        next_round(shared);
    }

private:
    void next_round(Shared& shared) {
        round_ = ++shared.rounds_;
        looked_at_ = refused_ = 0;
    }
    void begin(Shared& shared) {
        next_round(shared);
        heard_ = shared.heard_;
        began_ = round_;
        queues_ = 0;
    }

    std::uint64_t heard_ = 0;
    std::uint64_t round_ = 0;      // since the last sleep
    std::uint64_t began_ = 0;      // the first round in which the thread polled its present queues
    std::uint32_t queues_ = 0;     // polled since then
    std::uint32_t looked_at_ = 0;  // in this round
    std::uint32_t refused_ = 0;    // sleeps, in this round
};

}  // namespace wireproof::verbs
