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
#include "wireproof/proto/ib/work_request.hpp"

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

/// Serves any number of queue pairs. It holds `capacity` completions. One more is lost, and the
/// queue pair that it belongs to goes into error.
class CompletionQueue {
public:
    explicit CompletionQueue(std::size_t capacity) : waiting_(capacity) {}

    enum class Notify : std::uint8_t { none, solicited, any };

    enum class Pushed : std::uint8_t {
        kept,
        kept_and_told,  // the user asked to be notified of it
        lost,           // the queue is full
    };
    Pushed push(const Completion& completion, bool solicited) {
        if (waiting_.full()) {
            overrun_ = true;
            return Pushed::lost;
        }
        waiting_.push(completion);
        const bool failed = completion.status != CompletionStatus::success;
        const bool tells =
            notify_ == Notify::any || (notify_ == Notify::solicited && (solicited || failed));
        if (tells) notify_ = Notify::none;
        return tells ? Pushed::kept_and_told : Pushed::kept;
    }
    /// Adds the senders of the datagrams whose completions wait.
    void add_senders(PeerSet& to) const {
        for (std::size_t i = 0; i < waiting_.size(); ++i) {
            if (waiting_[i].from_queue_pair != 0) to.add(waiting_[i].from);
        }
    }
    /// Removes the completions of a queue pair that the user has not polled.
    void drop(std::uint32_t queue_pair) {
        for (std::size_t left = waiting_.size(); left > 0; --left) {
            const Completion one = waiting_.front();
            waiting_.pop();
            if (one.queue_pair != queue_pair) waiting_.push(one);
        }
    }
    std::optional<Completion> poll() {
        if (waiting_.empty()) return std::nullopt;
        const Completion completion = waiting_.front();
        waiting_.pop();
        return completion;
    }
    /// Reports the next completion as an event, once. With `solicited_only`, only a solicited or
    /// failed completion counts.
    void request_notify(bool solicited_only) {
        if (notify_ != Notify::any) notify_ = solicited_only ? Notify::solicited : Notify::any;
    }

    std::size_t capacity() const { return waiting_.capacity(); }
    std::size_t size() const { return waiting_.size(); }
    bool overrun() const { return overrun_; }
    /// Returns false if the queue holds more completions than that now.
    bool resize(std::size_t capacity) {
        if (capacity < waiting_.size()) return false;
        Ring<Completion> larger(capacity);
        while (const auto completion = poll()) larger.push(*completion);
        waiting_ = std::move(larger);
        return true;
    }
    void fingerprint(Fingerprint& sink) const {
        sink.add(waiting_.capacity());
        sink.add(waiting_.size());
        for (std::size_t i = 0; i < waiting_.size(); ++i) waiting_[i].fingerprint(sink);
        sink.add(notify_);
        sink.add(overrun_);
    }

private:
    Ring<Completion> waiting_;
    Notify notify_ = Notify::none;
    bool overrun_ = false;
};

}  // namespace wireproof::proto::ib
