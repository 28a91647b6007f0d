#include "wireproof/proto/ue/replay_buffer.hpp"

#include <algorithm>

namespace wireproof::ue {

void ReplayBuffer::push(ConstBytes message, bool poisoned) {
    Entry entry{.length = message.size(), .lent = message.data(), .slot = next_slot_};
    entry.poisoned = poisoned;
    if (!lent_) {
        entry.lent = nullptr;
        const Bytes room = bytes_.bytes().subspan(next_slot_ * payload_max_, payload_max_);
        std::copy(message.begin(), message.end(), room.begin());
    }
    if (++next_slot_ == entries_.capacity()) next_slot_ = 0;
    entries_.push(entry);
}

ConstBytes ReplayBuffer::message(std::size_t index) const {
    const Entry& entry = entries_[index];
    if (lent_) return {entry.lent, entry.length};
    return bytes_.bytes().subspan(entry.slot * payload_max_, entry.length);
}

void ReplayBuffer::purge(std::size_t count) {
    entries_.pop(count);
    sent_ -= std::min(sent_, count);
}

void ReplayBuffer::fingerprint(Instant now, bool ages, Fingerprint& sink) const {
    sink.add(sent_);
    sink.add(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        sink.add(entries_[i].poisoned);
        if (ages && i < sent_) sink.add(now - entries_[i].first_sent);
        sink.add_bytes(message(i));
    }
}

}  // namespace wireproof::ue
