// Events that wait for the program: a queue behind a descriptor that is readable while it holds
// one. Programs poll the descriptor, and set O_NONBLOCK on it.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>

namespace wireproof::verbs {

/// A counter of the kernel's behind a descriptor. Throws std::system_error if there is none to be
/// had.
class EventCounter {
public:
    EventCounter();
    EventCounter(const EventCounter&) = delete;
    EventCounter& operator=(const EventCounter&) = delete;
    ~EventCounter();

    int handle() const { return handle_; }
    void add() const;
    /// Takes one away; waits for it, unless the program made the descriptor nonblocking. False:
    /// there was none, or a signal came; errno says which.
    bool take() const;
    /// Takes one away if that needs no waiting.
    void take_now() const;

private:
    int handle_;
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
    /// The oldest; nothing: as EventCounter::take. `taken` is called with it before any other
    /// thread can see that it is gone.
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
    /// Those for which `of` holds are forgotten.
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
