// Holds frames from submission to acknowledgement. Frames that were sent come before those that
// wait. The buffer copies messages, unless the caller lends them until they are acknowledged.
#pragma once

#include "wireproof/base/instant.hpp"
#include "wireproof/base/lazy_bytes.hpp"
#include "wireproof/base/ring.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof::ue {

class ReplayBuffer {
public:
    struct Size {
        std::size_t slots = 0;
        std::size_t payload_max = 0;
        bool lent = false;
    };
    struct Entry {
        std::size_t length = 0;
        const std::byte* lent = nullptr;  // set if messages are lent
        std::size_t slot = 0;             // used if messages are copied
        bool poisoned = false;
        Instant first_sent = {};  // set if sent
    };

    explicit ReplayBuffer(const Size& size)
        : payload_max_(size.payload_max),
          lent_(size.lent),
          entries_(size.slots),
          bytes_(lent_ ? 0 : size.slots * size.payload_max) {}

    bool full() const { return entries_.full(); }
    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }
    std::size_t sent() const { return sent_; }
    bool has_unsent() const { return sent_ < entries_.size(); }

    void push(ConstBytes message, bool poisoned);
    /// Index 0 is the oldest frame.
    const Entry& operator[](std::size_t index) const { return entries_[index]; }
    ConstBytes message(std::size_t index) const;
    void mark_sent(Instant now) { entries_[sent_++].first_sent = now; }
    void purge(std::size_t count);
    void clear() { purge(entries_.size()); }

    /// `ages`: when each frame was sent matters.
    void fingerprint(Instant now, bool ages, Fingerprint& sink) const;

private:
    std::size_t payload_max_;
    bool lent_;
    Ring<Entry> entries_;
    LazyBytes bytes_;
    std::size_t next_slot_ = 0;
    std::size_t sent_ = 0;
};

}  // namespace wireproof::ue
