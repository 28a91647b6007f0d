// The answers that a port owes its peers and that must leave before each message that the program
// posts after them (RC-38). The peer's program may take such a message as a sign that its Read,
// Atomic or Write is done, also if the message comes from another queue pair.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame.hpp"

namespace wireproof::proto::ib {

class OwedAnswers {
public:
    /// Counts the answers that were ever owed, from 1. 0: none.
    using Number = std::uint64_t;

    bool empty() const { return owed_.empty(); }
    /// A queue pair owes this peer an answer. `held`: an acknowledgement, which may be held.
    Number owe(PeerId peer, std::uint32_t queue_pair, bool held) {
        owed_.push_back({++last_, peer, queue_pair, held});
        return last_;
    }
    /// The answer has left, or will never leave. Does nothing if the number is 0.
    void settle(Number number) {
        if (number == 0) return;
        const auto found = std::ranges::lower_bound(owed_, number, {}, &Owed::number);
        if (found == owed_.end() || found->number != number) return;
        owed_.erase(found);
        woken_.insert(woken_.end(), waiting_.begin(), waiting_.end());
        waiting_.clear();
    }

    /// What a message to this peer that is posted now waits for. 0: nothing.
    Number newest(PeerId peer) const {
        for (auto one = owed_.rbegin(); one != owed_.rend(); ++one) {
            if (one->peer == peer) return one->number;
        }
        return 0;
    }
    /// The number of answers that are still owed to this peer, of those up to `newest`.
    std::size_t owed(PeerId peer, Number newest) const {
        std::size_t count = 0;
        for (const Owed& one : owed_) {
            if (one.number > newest) break;
            count += one.peer == peer ? 1U : 0U;
        }
        return count;
    }
    /// Calls `use` with each queue pair that owes this peer an acknowledgement which may be held.
    template <class Use>
    void for_each_held(PeerId peer, Use&& use) const {
        for (const Owed& one : owed_) {
            if (one.peer == peer && one.held) use(one.queue_pair);
        }
    }

    /// A message of this queue pair waits: `wake` reports the queue pair after an answer has left.
    void wait(std::uint32_t queue_pair) {
        if (std::ranges::find(waiting_, queue_pair) == waiting_.end()) {
            waiting_.push_back(queue_pair);
        }
    }
    bool wakes() const { return !woken_.empty(); }
    template <class Wake>
    void wake(Wake&& wake) {
        for (const std::uint32_t queue_pair : woken_) wake(queue_pair);
        woken_.clear();
    }

    void fingerprint(Fingerprint& sink) const {
        sink.add(owed_.size());
        for (const Owed& one : owed_) {
            sink.add(one.peer);
            sink.add(one.queue_pair);
            sink.add(one.held);
        }
        for (const auto* const list : {&waiting_, &woken_}) {
            sink.add(list->size());
            for (const std::uint32_t queue_pair : *list) sink.add(queue_pair);
        }
    }

private:
    struct Owed {
        Number number = 0;
        PeerId peer = {};
        std::uint32_t queue_pair = 0;
        bool held = false;
    };

    Number last_ = 0;
    std::vector<Owed> owed_;  // oldest first
    std::vector<std::uint32_t> waiting_;
    std::vector<std::uint32_t> woken_;  // for the next call of wake()
};

}  // namespace wireproof::proto::ib
