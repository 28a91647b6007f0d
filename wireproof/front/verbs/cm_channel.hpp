// What one open descriptor of rdma_cm is behind: events that wait for the program, in order.
#pragma once

#include <rdma/rdma_user_cm.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "wireproof/front/verbs/events.hpp"

namespace wireproof::verbs {

struct CmChannelEvent {
    rdma_ucm_event_resp response{};
    std::uint32_t of = 0;  // the identifier that it is counted at: of a request, the listener
    /// Events of that identifier that the program has taken.
    std::shared_ptr<std::uint32_t> taken;
};

/// To or from memory of the program's. False: it is not there.
bool copy_program(std::byte* to, const std::byte* from, std::size_t size);

/// Any thread.
class CmChannel {
public:
    /// Throws std::system_error if there is no descriptor to be had.
    CmChannel();
    CmChannel(const CmChannel&) = delete;
    CmChannel& operator=(const CmChannel&) = delete;
    ~CmChannel() { close(); }

    /// The program's descriptor, readable while an event waits.
    int handle() const { return shown_; }

    void push(CmChannelEvent event);
    /// Waits for an event, unless the program made the descriptor nonblocking, and copies up to
    /// `room` bytes of it to the program's memory. 0, or EAGAIN, EINTR, EFAULT.
    int take(void* to, std::size_t room);
    /// What waits of this identifier is forgotten, and returned.
    std::deque<CmChannelEvent> remove(std::uint32_t of);
    /// How many events of this kind wait that are counted at this identifier.
    std::size_t waiting(std::uint32_t of, std::uint32_t event);
    /// The program has closed the descriptor, whose number may be another's by now.
    void abandon() { shown_ = -1; }
    /// Closes the program's descriptor. A thread that waits goes on waiting, as in the kernel:
    /// programs leave a thread behind that waits for events.
    void close();

private:
    std::mutex lock_;
    EventCounter counter_;
    std::atomic<int>
        shown_;  // another descriptor of the counter's: that one is ours while a thread waits
    std::deque<CmChannelEvent> events_;
};

}  // namespace wireproof::verbs
