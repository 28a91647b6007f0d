// Events that wait for the program. The queue has a descriptor that is readable while an event
// waits. Programs poll the descriptor, and may set O_NONBLOCK on it.
//
// No event is dropped, and the program's own calls bound how many wait, whatever peers send: a
// completion queue has one for each ibv_req_notify_cq, and one if it overruns; a shared receive
// queue has one for each limit that the program sets; a queue pair has one of each kind between two
// changes to RESET, and one for each change to SQD.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

#include "wireproof/os/descriptor.hpp"

namespace wireproof::verbs {

/// A counter of the kernel with a descriptor. The constructor throws std::system_error if the
/// process cannot have another descriptor.
class EventCounter {
public:
    EventCounter();

    int handle() const { return handle_.handle(); }
    void add() const;
    /// Decrements the counter. Waits while the counter is 0, unless the program made the descriptor
    /// nonblocking. Returns false if the counter was 0 or if a signal arrived; errno says which.
    bool take() const;
    /// Decrements the counter unless it is 0.
    void take_now() const;

private:
    Descriptor handle_;
};

template <class Event>
class EventQueue {
public:
    int handle() const { return counter_.handle(); }

    void push(const Event& event) {
        const std::lock_guard guard(lock_);
        events_.push_back(event);
        counter_.add();
    }
    /// Returns the oldest event. The result is empty where EventCounter::take returns false.
    /// `taken` is called with the event before another thread can see that the event is gone.
    template <class Taken>
    std::optional<Event> take(Taken&& taken) {
        while (counter_.take()) {
            const std::lock_guard guard(lock_);
            if (events_.empty()) continue;  // removed meanwhile
            const Event event = events_.front();
            events_.pop_front();
            taken(event);
            return event;
        }
        return std::nullopt;
    }
    /// Forgets the events for which `of` returns true.
    template <class Of>
    void remove(Of&& of) {
        const std::lock_guard guard(lock_);
        const auto kept = std::remove_if(events_.begin(), events_.end(), of);
        for (auto gone = events_.end() - kept; gone > 0; --gone) counter_.take_now();
        events_.erase(kept, events_.end());
    }

private:
    std::mutex lock_;
    EventCounter counter_;
    std::deque<Event> events_;
};

}  // namespace wireproof::verbs
