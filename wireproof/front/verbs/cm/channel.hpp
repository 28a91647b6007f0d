// The events behind one open descriptor of rdma_cm. They wait in order until the program takes
// them.
#pragma once

// First: behind the kernel's <linux/in6.h>, which the next header includes, it has no in6_pktinfo.
#include <netinet/in.h>
#include <rdma/rdma_user_cm.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>

#include "wireproof/front/verbs/objects/events.hpp"

namespace wireproof::verbs {

struct CmChannelEvent {
    rdma_ucm_event_resp response{};
    std::uint32_t of = 0;  // the identifier that counts it; for a request, the listener
    /// How many events of that identifier the program has taken.
    std::shared_ptr<std::uint32_t> taken;
};

/// Copies to or from memory of the program. Returns false if the memory is not mapped.
bool copy_program(std::byte* to, const std::byte* from, std::size_t size);

/// Any thread may call any function.
class CmChannel {
public:
    /// Throws std::system_error if the process cannot have another descriptor.
    CmChannel();
    CmChannel(const CmChannel&) = delete;
    CmChannel& operator=(const CmChannel&) = delete;
    ~CmChannel() { close(); }

    /// The program's descriptor. It is readable while an event waits.
    int handle() const { return shown_; }

    /// The next push() needs no memory.
    void make_room();
    void push(CmChannelEvent event);
    /// Waits for an event, unless the program made the descriptor nonblocking. Returns 0, EAGAIN or
    /// EINTR. After 0 the caller calls take(). The thread may be cancelled here: this function and
    /// its callers must hold nothing that only a destructor would release.
    int await() const;
    /// Copies up to `room` bytes of the next event to the program's memory. Returns 0 or EFAULT, or
    /// ENOENT if there is no event any more: then the caller waits again.
    int take(void* to, std::size_t room);
    /// Removes and returns the waiting events of this identifier.
    std::list<CmChannelEvent> remove(std::uint32_t of);
    /// How many events of this kind wait and count for this identifier.
    std::size_t waiting(std::uint32_t of, std::uint32_t event);
    /// The program has closed the descriptor itself. Its number may already belong to another file.
    void abandon() { shown_ = -1; }
    /// Closes the program's descriptor. A thread that waits for an event goes on waiting, as in the
    /// kernel: programs leave such threads behind.
    void close();

private:
    std::mutex lock_;
    EventCounter counter_;
    std::atomic<int> shown_;  // a duplicate; the counter's own stays open for a thread that waits
    std::list<CmChannelEvent> events_;
    std::list<CmChannelEvent> room_;  // at most one
};

}  // namespace wireproof::verbs
