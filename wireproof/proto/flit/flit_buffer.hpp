// Holds messages from submission to acknowledgement. Those that were sent come before those that
// wait. The buffer copies messages, unless the caller lends them until they are acknowledged.
#pragma once

#include "wireproof/base/lazy_bytes.hpp"
#include "wireproof/base/ring.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/flit/config.hpp"

namespace wireproof::flit {

class FlitBuffer {
public:
    explicit FlitBuffer(const Config& config)
        : slot_size_(config.message_max()),
          lent_(config.payload_lent),
          entries_(config.replay_slots),
          bytes_(lent_ ? 0 : config.replay_slots * slot_size_) {}

    bool full() const { return entries_.full(); }
    std::size_t size() const { return entries_.size(); }
    std::size_t sent() const { return sent_; }
    bool has_unsent() const { return sent_ < entries_.size(); }

    void push(ConstBytes message);
    /// Index 0 is the oldest message.
    ConstBytes message(std::size_t index) const {
        const Entry& entry = entries_[index];
        if (lent_) return {entry.lent, entry.length};
        return bytes_.bytes().subspan(entry.slot * slot_size_, entry.length);
    }
    void mark_sent() { ++sent_; }
    void purge(std::size_t count) {
        entries_.pop(count);
        sent_ -= count < sent_ ? count : sent_;
    }
    void clear() { purge(entries_.size()); }

    void fingerprint(Fingerprint& sink) const;

private:
    struct Entry {
        std::size_t length = 0;
        const std::byte* lent = nullptr;  // set if messages are lent
        std::size_t slot = 0;             // used if messages are copied
    };

    std::size_t slot_size_;
    bool lent_;
    Ring<Entry> entries_;
    LazyBytes bytes_;
    std::size_t next_slot_ = 0;
    std::size_t sent_ = 0;
};

}  // namespace wireproof::flit
