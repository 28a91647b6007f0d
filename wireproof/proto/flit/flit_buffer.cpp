#include "wireproof/proto/flit/flit_buffer.hpp"

#include <algorithm>

namespace wireproof::flit {

void FlitBuffer::push(ConstBytes message) {
    Entry entry{message.size(), message.data(), next_slot_};
    if (!lent_) {
        entry.lent = nullptr;
        const Bytes room = bytes_.bytes().subspan(next_slot_ * slot_size_, slot_size_);
        std::copy(message.begin(), message.end(), room.begin());
    }
    if (++next_slot_ == entries_.capacity()) next_slot_ = 0;
    entries_.push(entry);
}

void FlitBuffer::fingerprint(Fingerprint& sink) const {
    sink.add(sent_);
    sink.add(entries_.size());
    for (std::size_t i = 0; i < entries_.size(); ++i) sink.add_bytes(message(i));
}

}  // namespace wireproof::flit
