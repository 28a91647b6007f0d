// Holds TLPs from submission to acknowledgement. TLPs that were sent come before those that wait.
// The buffer copies messages, unless the caller lends them until they are acknowledged.
#pragma once

#include "wireproof/base/lazy_bytes.hpp"
#include "wireproof/base/ring.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/pcie/config.hpp"

namespace wireproof::pcie {

class ReplayBuffer {
public:
    struct Entry {
        FlowType type = FlowType::posted;
        std::size_t length = 0;
        const std::byte* lent = nullptr;  // set if messages are lent
        std::size_t slot = 0;             // used if messages are copied
    };

    explicit ReplayBuffer(const Config& config)
        : payload_max_(config.payload_max),
          lent_(config.payload_lent),
          entries_(config.replay_slots),
          bytes_(lent_ ? 0 : config.replay_slots * config.payload_max) {}

    bool full() const { return entries_.full(); }
    std::size_t size() const { return entries_.size(); }
    std::size_t sent() const { return sent_; }
    bool has_unsent() const { return sent_ < entries_.size(); }

    void push(FlowType type, ConstBytes message);
    /// Index 0 is the oldest TLP.
    const Entry& operator[](std::size_t index) const { return entries_[index]; }
    ConstBytes message(std::size_t index) const;
    void mark_sent() { ++sent_; }
    void purge(std::size_t count);
    void clear() { purge(entries_.size()); }

    void fingerprint(Fingerprint& sink) const;

private:
    std::size_t payload_max_;
    bool lent_;
    Ring<Entry> entries_;
    LazyBytes bytes_;
    std::size_t next_slot_ = 0;
    std::size_t sent_ = 0;
};

}  // namespace wireproof::pcie
