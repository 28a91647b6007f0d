// Completion queues. Each queue of a queue pair completes its work in the order of posting, and
// completes no request twice.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "wireproof/base/ring.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/core/frame.hpp"
#include "wireproof/core/peer_set.hpp"
#include "wireproof/proto/ib/transport/work_request.hpp"

namespace wireproof::proto::ib {

enum class CompletionStatus : std::uint8_t {
    success,
    local_length_error,
    local_operation_error,
    local_protection_error,
    flushed,  // not started, or it is not known whether it was done: the queue pair is in error
    window_bind_error,
    bad_response,
    remote_invalid_request,
    remote_access_error,
    remote_operation_error,
    retry_exceeded,
    rnr_retry_exceeded,
};

inline constexpr std::array<std::string_view, 12> completion_status_names = {
    "success",
    "local length error",
    "local operation error",
    "local protection error",
    "flushed",
    "memory window bind error",
    "bad response",
    "remote invalid request",
    "remote access error",
    "remote operation error",
    "transport retries exceeded",
    "receiver-not-ready retries exceeded"};

constexpr std::string_view name_of(CompletionStatus status) {
    return completion_status_names[static_cast<std::size_t>(status)];
}

enum class CompletionKind : std::uint8_t {
    send,
    write,
    read,
    compare_swap,
    fetch_add,
    bind_window,
    local_invalidate,
    receive,
    receive_write,  // a Write with immediate data
};

struct Completion {
    std::uint64_t id = 0;
    CompletionStatus status = CompletionStatus::success;
    CompletionKind kind = CompletionKind::send;  // for failed work: the kind that was posted
    std::uint32_t queue_pair = 0;
    std::uint32_t length = 0;  // bytes received or read
    std::optional<std::uint32_t> immediate = {};
    std::optional<std::uint32_t> invalidated = {};  // key that a Send ended
    // For a received datagram.
    PeerId from = {};
    std::uint32_t from_queue_pair = 0;
    friend bool operator==(const Completion&, const Completion&) = default;

    void fingerprint(Fingerprint& sink) const {
        sink.add(id);
        sink.add(status);
        sink.add(kind);
        sink.add(queue_pair);
        sink.add(length);
        for (const auto& word : {immediate, invalidated}) {
            sink.add(word.has_value());
            sink.add(word.value_or(0));
        }
        sink.add(from);
        sink.add(from_queue_pair);
    }
};

/// Whether it says that a Read, an Atomic or a Write of this side is done (RC-38).
constexpr bool is_one_sided(const Completion& completion) {
    return completion.kind >= CompletionKind::write &&
           completion.kind <= CompletionKind::fetch_add &&
           completion.status == CompletionStatus::success;
}
constexpr bool is_receive(CompletionKind kind) {
    return kind >= CompletionKind::receive;
}

/// Serves any number of queue pairs. It holds `capacity` completions. One more is lost, and the
/// queue pair that it belongs to goes into error.
///
/// The adapter counts the one-sided completions of all its queues. A completion keeps the count at
/// the time when it was pushed, so the adapter knows what came before it in other queues (RC-38).
class CompletionQueue {
public:
    using Count = std::uint64_t;  // of one-sided completions

    explicit CompletionQueue(std::size_t capacity) : waiting_(capacity) {}

    enum class Notify : std::uint8_t { none, solicited, any };

    enum class Pushed : std::uint8_t {
        kept,
        kept_and_told,  // the user asked to be notified of it
        lost,           // the queue is full
    };
    /// `count` includes this completion.
    Pushed push(const Completion& completion, bool solicited, Count count) {
        if (waiting_.full()) {
            overrun_ = true;
            return Pushed::lost;
        }
        const bool failed = completion.status != CompletionStatus::success;
        one_sided_ += is_one_sided(completion) ? 1U : 0U;
        waiting_.push({completion, count, solicited || failed});
        return tells(solicited || failed) ? Pushed::kept_and_told : Pushed::kept;
    }
    /// Adds the senders of the datagrams whose completions wait.
    void add_senders(PeerSet& to) const {
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            const Completion& one = waiting_[i].completion;
            if (one.from_queue_pair != 0) to.add(one.from);
        }
    }
    /// Removes the completions of a queue pair that the user has not polled.
    void drop(std::uint32_t queue_pair) {
        for (std::size_t left = waiting_.size(); left > 0; --left) {
            const Waiting one = waiting_.front();
            pop();
            if (one.completion.queue_pair == queue_pair) continue;
            one_sided_ += is_one_sided(one.completion) ? 1U : 0U;
            waiting_.push(one);
        }
    }
    /// The oldest completion.
    std::optional<Completion> poll() {
        if (waiting_.empty()) return std::nullopt;
        const Completion completion = waiting_.front().completion;
        pop();
        late_ = false;
        return completion;
    }
    /// Reports the next completion as an event, once. With `solicited_only`, only a solicited or
    /// failed completion counts. Returns true if one has just come: after the last poll, for the
    /// user.
    [[nodiscard]] bool request_notify(bool solicited_only) {
        if (notify_ != Notify::any) notify_ = solicited_only ? Notify::solicited : Notify::any;
        return late_ && tells_of_waiting();
    }

    /// The oldest completion may have to wait until the user has polled other queues: it is a
    /// message, and Reads, Atomics or Writes were done between the last poll that found nothing and
    /// the message. The queue is not empty.
    bool may_wait() const {
        const Waiting& next = waiting_.front();
        return next.count > polled_ && is_receive(next.completion.kind);
    }
    /// This queue has a one-sided completion that came in the same time.
    bool precedes(const CompletionQueue& other) const {
        if (one_sided_ == 0) return false;
        for (std::size_t i = first_after(other.polled_); i < waiting_.size(); ++i) {
            if (waiting_[i].count > other.waiting_.front().count) return false;
            if (is_one_sided(waiting_[i].completion)) return true;
        }
        return false;
    }
    /// A poll finds nothing. The user may poll other queues now, so the next poll gives what has
    /// come until now. For the user, what waits comes just after this poll: returns true if the
    /// user asked to be notified of it.
    [[nodiscard]] bool found_nothing(Count count) {
        polled_ = count;
        late_ = !waiting_.empty();
        return late_ && tells_of_waiting();
    }

    std::size_t capacity() const { return waiting_.capacity(); }
    std::size_t size() const { return waiting_.size(); }
    bool overrun() const { return overrun_; }
    /// Returns false if the queue holds more completions than that now.
    bool resize(std::size_t capacity) {
        if (capacity < waiting_.size()) return false;
        Ring<Waiting> larger(capacity);
        for (std::size_t i = 0; i < waiting_.size(); ++i) larger.push(waiting_[i]);
        waiting_ = std::move(larger);
        return true;
    }
    /// Calls `use` with the count of each one-sided completion.
    template <class Use>
    void for_each_one_sided(Use&& use) const {
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            if (is_one_sided(waiting_[i].completion)) use(waiting_[i].count);
        }
    }
    /// `place_of` gives the place of a count among the completions that wait in all queues.
    template <class PlaceOf>
    void fingerprint(Fingerprint& sink, PlaceOf&& place_of) const {
        sink.add(waiting_.capacity());
        sink.add(waiting_.size());
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            waiting_[i].completion.fingerprint(sink);
            sink.add(place_of(waiting_[i].count));
            sink.add(waiting_[i].tells);
        }
        sink.add(place_of(polled_));
        sink.add(late_);
        sink.add(notify_);
        sink.add(overrun_);
    }

private:
    struct Waiting {
        Completion completion;
        Count count = 0;
        bool tells = false;  // to a user who asked for solicited completions only
    };

    void pop() {
        one_sided_ -= is_one_sided(waiting_.front().completion) ? 1U : 0U;
        waiting_.pop();
    }
    /// Whether the user asked for such an event. It is then reported.
    bool tells(bool solicited) {
        const bool told = notify_ == Notify::any || (notify_ == Notify::solicited && solicited);
        if (told) notify_ = Notify::none;
        return told;
    }
    bool tells_of_waiting() {
        bool solicited = false;
        for (std::size_t i = 0; i < waiting_.size(); ++i) solicited |= waiting_[i].tells;
        return tells(solicited);
    }
    /// The place of the first completion with a larger count; size() if there is none.
    std::size_t first_after(Count count) const {
        std::size_t first = 0;
        for (std::size_t end = waiting_.size(); first < end;) {
            const std::size_t middle = first + (end - first) / 2;
            if (waiting_[middle].count > count) {
                end = middle;
            } else {
                first = middle + 1;
            }
        }
        return first;
    }

    Ring<Waiting> waiting_;
    std::size_t one_sided_ = 0;  // that wait
    Count polled_ = 0;           // at the last poll that found nothing
    bool late_ = false;          // that poll left something in the queue
    Notify notify_ = Notify::none;
    bool overrun_ = false;
};

}  // namespace wireproof::proto::ib
