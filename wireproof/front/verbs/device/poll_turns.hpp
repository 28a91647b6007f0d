// Lets the completion queues of a device share the turns that polls make. A turn moves the packets
// of all queues, and costs a system call. A program that polls two queues one after the other, as
// UCX does, needs one turn for both.
#pragma once

#include <cstdint>
#include <utility>

namespace wireproof::verbs {

class PollTurns {
public:
    /// How many turns a completion queue has seen. Each queue has one.
    class Seen {
        friend class PollTurns;
        std::uint64_t turns_ = 0;
    };

    /// The queue is polled. True: the poll of another queue has made a turn since this queue was
    /// polled last, so this poll need not make one.
    bool covers(Seen& queue) const { return std::exchange(queue.turns_, turns_) != turns_; }
    /// The poll of this queue makes a turn.
    void make(Seen& queue) { queue.turns_ = ++turns_; }

private:
    std::uint64_t turns_ = 0;
};

}  // namespace wireproof::verbs
