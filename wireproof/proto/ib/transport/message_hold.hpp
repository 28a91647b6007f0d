// RC-40: completions of messages that wait for answers to Reads and Atomics of the same queue pair.
// The peer may have answered these before its program sent the message, and then the program here
// relies on it that they are done. If such an answer is lost, the message arrives first. Its
// completion then waits until the requester has asked again and has the answer, for a limited time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/ib/packet/psn.hpp"
#include "wireproof/proto/ib/transport/completion_queue.hpp"

namespace wireproof::proto::ib {

/// The usual limit on a host. Within this time a requester has asked again several times.
inline constexpr Duration usual_message_hold = Duration::milliseconds(100);

class MessageHold {
public:
    struct Held {
        Completion completion;
        bool solicited = false;
        Psn until = {};  // the PSN after the last Read or Atomic that it waits for
        Instant deadline = never;
    };

    bool empty() const { return held_.empty(); }
    /// The message that is executed now waits, until end().
    void begin(Psn until, Instant deadline) { next_ = Until{until, deadline}; }
    void end() { next_.reset(); }
    /// The message completes now. Returns false if it does not wait. A message does not overtake an
    /// earlier one that waits.
    bool take(const Completion& completion, bool solicited) {
        if (!next_ && held_.empty()) return false;
        const Until until = next_ ? *next_ : Until{held_.back().until, held_.back().deadline};
        held_.push_back({completion, solicited, until.psn, until.deadline});
        return true;
    }
    const Held& front() const { return held_.front(); }
    void pop() { held_.erase(held_.begin()); }
    void clear() { held_.clear(); }
    Instant deadline() const { return held_.empty() ? never : held_.front().deadline; }

    void fingerprint(Instant now, Fingerprint& sink) const {
        sink.add(held_.size());
        for (const Held& one : held_) {
            one.completion.fingerprint(sink);
            sink.add(one.solicited);
            sink.add(one.until.value());
            sink.add_deadline(one.deadline, now);
        }
    }

private:
    struct Until {
        Psn psn = {};
        Instant deadline = never;
    };

    std::optional<Until> next_;
    std::vector<Held> held_;  // in the order of arrival
};

}  // namespace wireproof::proto::ib
