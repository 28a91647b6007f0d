#include "wireproof/proto/ib/transport/queue_pair_core.hpp"

#include <utility>

namespace wireproof::proto::ib {

const ReceiveEntry* ReceiveQueue::take(Adapter& adapter) {
    if (!shared_) return own_.empty() ? nullptr : &own_.front();
    if (has_shared_) return &held_;
    SharedReceiveQueue& queue = adapter.shared_receive_queue(*shared_);
    if (queue.ring.empty()) return nullptr;
    std::swap(held_, queue.ring.front());
    queue.ring.pop();
    has_shared_ = true;
    if (queue.limit > queue.ring.size()) {
        queue.limit = 0;
        adapter.tell(PortEvent::What::limit_reached, *shared_);
    }
    return &held_;
}

void ReceiveQueue::finish() {
    failures_.pass();
    if (shared_) {
        has_shared_ = false;
    } else {
        own_.pop();
    }
}

// UC-16: an own receive request is still first in its queue.
std::optional<std::uint64_t> ReceiveQueue::give_back() {
    if (!has_shared_) return std::nullopt;
    has_shared_ = false;
    return held_.id;
}

void ReceiveQueue::fingerprint(Fingerprint& sink) const {
    own_.fingerprint(sink);
    sink.add(has_shared_);
    if (has_shared_) held_.fingerprint(sink);
    failures_.fingerprint(sink);
}

void QueuePairCore::complete_send(Adapter& adapter, CompletionStatus status) {
    const SendEntry& entry = sends.front();
    if (status != CompletionStatus::success || gives_completion(entry)) {
        const bool kept =
            adapter.complete(config_.send_completions, {.id = entry.terms.id,
                                                        .status = status,
                                                        .kind = kind_of(entry.terms.request),
                                                        .queue_pair = config_.number,
                                                        .length = entry.length});
        if (!kept) completion_lost_ = true;
    }
    sends.pop();
}

void QueuePairCore::complete_receive(Adapter& adapter, Completion completion, bool solicited) {
    completion.queue_pair = config_.number;
    if (completion.status == CompletionStatus::success && held.take(completion, solicited)) return;
    complete_all_held(adapter);
    push_receive(adapter, completion, solicited);
}

void QueuePairCore::push_receive(Adapter& adapter, const Completion& completion, bool solicited) {
    if (!adapter.complete(config_.receive_completions, completion, solicited)) {
        completion_lost_ = true;
    }
}

// UC-23: a bind changes the memory table and sends no packet.
CompletionStatus QueuePairCore::run_local(const SendEntry& entry, Adapter& adapter) const {
    if (entry.terms.request == Request::bind_window) {
        return adapter.memory.bind(entry.terms.bind, bearer())
                   ? CompletionStatus::success
                   : CompletionStatus::window_bind_error;
    }
    return adapter.memory.invalidate(entry.terms.remote_key, bearer())
               ? CompletionStatus::success
               : CompletionStatus::local_protection_error;
}

void QueuePairCore::clear(Adapter& adapter) {
    sends.clear();
    receives.flush([](std::uint64_t) {});
    held.clear();
    adapter.completion_queue(config_.send_completions).drop(config_.number);
    adapter.completion_queue(config_.receive_completions).drop(config_.number);
    state_ = QueuePairState::reset;
    completion_lost_ = false;
    attributes_ = {};
}

void QueuePairCore::flush_sends(Adapter& adapter) {
    while (!sends.empty()) complete_send(adapter, CompletionStatus::flushed);
}

void QueuePairCore::flush_receives(Adapter& adapter) {
    receives.flush([&](std::uint64_t id) {
        complete_receive(
            adapter,
            {.id = id, .status = CompletionStatus::flushed, .kind = CompletionKind::receive},
            false);
    });
    if (receives.shared()) adapter.tell(PortEvent::What::receives_flushed, config_.number);
}

void QueuePairCore::enter_error(Adapter& adapter) {
    if (state_ == QueuePairState::error) return;
    state_ = QueuePairState::error;
    complete_all_held(adapter);
    flush_sends(adapter);
    flush_receives(adapter);
}

void QueuePairCore::enter_send_error(Adapter& adapter) {
    state_ = QueuePairState::sqe;
    flush_sends(adapter);
}

void QueuePairCore::fingerprint(Fingerprint& sink) const {
    sink.add(state_);
    sink.add(completion_lost_);
    sink.add(partition);
    attributes_.fingerprint(sink);
    sends.fingerprint(sink);
    receives.fingerprint(sink);
}

}  // namespace wireproof::proto::ib
