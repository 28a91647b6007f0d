// Messages in the order of submission. The queue copies them, unless the caller lends them until
// they leave the queue.
#pragma once

#include <algorithm>
#include <cstddef>

#include "wireproof/base/lazy_bytes.hpp"
#include "wireproof/base/ring.hpp"
#include "wireproof/core/fingerprint.hpp"

namespace wireproof {

struct NoMark {};

/// `Mark` is what a protocol keeps for each message besides its bytes.
template <class Mark = NoMark>
class MessageQueue {
public:
    struct Size {
        std::size_t slots = 0;
        std::size_t message_max = 0;
        bool lent = false;
    };
    struct Entry : Mark {
        std::size_t length = 0;
        const std::byte* lent = nullptr;  // set if messages are lent
        std::size_t slot = 0;             // used if messages are copied
    };

    explicit MessageQueue(const Size& size)
        : message_max_(size.message_max),
          lent_(size.lent),
          entries_(size.slots),
          bytes_(lent_ ? 0 : size.slots * size.message_max) {}

    bool full() const { return entries_.full(); }
    bool empty() const { return entries_.empty(); }
    std::size_t size() const { return entries_.size(); }

    void push(ConstBytes message, const Mark& mark = {}) {
        Entry entry{mark, message.size(), lent_ ? message.data() : nullptr, next_slot_};
        if (!lent_) {
            const Bytes room = bytes_.bytes().subspan(next_slot_ * message_max_, message_max_);
            std::copy(message.begin(), message.end(), room.begin());
        }
        if (++next_slot_ == entries_.capacity()) next_slot_ = 0;
        entries_.push(entry);
    }

    /// Index 0 is the oldest message.
    const Entry& operator[](std::size_t index) const { return entries_[index]; }
    Mark& mark(std::size_t index) { return entries_[index]; }
    ConstBytes message(std::size_t index) const {
        const Entry& entry = entries_[index];
        if (lent_) return {entry.lent, entry.length};
        return bytes_.bytes().subspan(entry.slot * message_max_, entry.length);
    }

    void pop(std::size_t count) { entries_.pop(count); }
    void clear() { pop(size()); }

    /// `add_mark(mark, index)` adds what matters of a mark.
    template <class AddMark>
    void fingerprint(Fingerprint& sink, const AddMark& add_mark) const {
        sink.add(entries_.size());
        for (std::size_t i = 0; i < entries_.size(); ++i) {
            add_mark(static_cast<const Mark&>(entries_[i]), i);
            sink.add_bytes(message(i));
        }
    }
    void fingerprint(Fingerprint& sink) const {
        fingerprint(sink, [](const Mark&, std::size_t) {});
    }

private:
    std::size_t message_max_;
    bool lent_;
    Ring<Entry> entries_;
    LazyBytes bytes_;
    std::size_t next_slot_ = 0;
};

}  // namespace wireproof
