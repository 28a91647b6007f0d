// Holds frames from submission to acknowledgement. Frames that were sent come before those that
// wait. The buffer copies messages, unless the caller lends them until they are acknowledged.
#pragma once

#include <algorithm>
#include <cstddef>

#include "wireproof/base/lazy_bytes.hpp"
#include "wireproof/base/ring.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof {

/// `Mark` is what a protocol keeps for each frame besides its message.
template <class Mark>
class ReplayBuffer {
public:
    struct Size {
        std::size_t slots = 0;
        std::size_t payload_max = 0;
        bool lent = false;
    };
    struct Entry : Mark {
        std::size_t length = 0;
        const std::byte* lent = nullptr;  // set if messages are lent
        std::size_t slot = 0;             // used if messages are copied
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

    void push(ConstBytes message, const Mark& mark) {
        Entry entry{mark, message.size(), lent_ ? message.data() : nullptr, next_slot_};
        if (!lent_) {
            const Bytes room = bytes_.bytes().subspan(next_slot_ * payload_max_, payload_max_);
            std::copy(message.begin(), message.end(), room.begin());
        }
        if (++next_slot_ == entries_.capacity()) next_slot_ = 0;
        entries_.push(entry);
    }

    /// Index 0 is the oldest frame.
    const Entry& operator[](std::size_t index) const { return entries_[index]; }
    ConstBytes message(std::size_t index) const {
        const Entry& entry = entries_[index];
        if (lent_) return {entry.lent, entry.length};
        return bytes_.bytes().subspan(entry.slot * payload_max_, entry.length);
    }

    /// The oldest frame that waits is sent now. Returns its mark.
    Mark& mark_sent() { return entries_[sent_++]; }
    void purge(std::size_t count) {
        entries_.pop(count);
        sent_ -= std::min(sent_, count);
    }
    void clear() { purge(entries_.size()); }

    /// `add_mark(mark, is_sent)` adds what matters of a mark.
    template <class AddMark>
    void fingerprint(Fingerprint& sink, const AddMark& add_mark) const {
        sink.add(sent_);
        sink.add(entries_.size());
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            add_mark(static_cast<const Mark&>(entries_[i]), i < sent_);
            sink.add_bytes(message(i));
        }
    }

private:
    std::size_t payload_max_;
    bool lent_;
    Ring<Entry> entries_;
    LazyBytes bytes_;
    std::size_t next_slot_ = 0;
    std::size_t sent_ = 0;
};

}  // namespace wireproof
