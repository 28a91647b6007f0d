// Replies that wait for room in the reply window. The receiver accepts a request only if there is a
// place for its reply, so there is always room for a handler's reply.
#pragma once

#include <algorithm>
#include <cstdint>

#include "wireproof/base/lazy_bytes.hpp"
#include "wireproof/base/ring.hpp"
#include "wireproof/proto/am/config.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// The owner of a reply that refuses a note.
inline constexpr std::uint32_t note_owner = 0xFFFFFFFF;

class ReplyQueue {
public:
    struct Waiting {
        std::uint32_t id = 0;     // handler; 0: a refusal
        std::uint32_t owner = 0;  // refusal of a store: 1 + its transfer id; of a note: note_owner
        std::size_t place = 0;
        std::size_t size = 0;  // bytes of arguments
    };

    explicit ReplyQueue(const Config& config)
        : stride_(std::max(config.message_max, RefusalBody::size)),
          waiting_(config.reply_places),
          bytes_(config.reply_places * stride_) {}

    bool full() const { return waiting_.full(); }
    bool empty() const { return waiting_.empty(); }
    const Waiting& front() const { return waiting_.front(); }
    const Ring<Waiting>& waiting() const { return waiting_; }
    void pop() { waiting_.pop(); }
    void clear() { waiting_.clear(); }

    void push(std::uint32_t id, ConstBytes arguments, std::uint32_t owner) {
        const std::size_t place = next_place_;
        next_place_ = (next_place_ + 1) % waiting_.capacity();
        std::copy(arguments.begin(), arguments.end(),
                  bytes_.bytes().subspan(place * stride_).begin());
        waiting_.push({id, owner, place, arguments.size()});
    }

    ConstBytes arguments(const Waiting& reply) const {
        return bytes_.bytes().subspan(reply.place * stride_, reply.size);
    }

    void fingerprint(Fingerprint& sink) const {
        sink.add(waiting_.size());
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            sink.add(waiting_[i].id);
            sink.add(waiting_[i].owner);
            sink.add_bytes(arguments(waiting_[i]));
        }
    }

private:
    std::size_t stride_;
    Ring<Waiting> waiting_;
    LazyBytes bytes_;
    std::size_t next_place_ = 0;
};

}  // namespace wireproof::am
