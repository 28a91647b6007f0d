// What the queue pairs of one port share. The port passes it to each call, so a queue pair holds no
// pointers. A copy of the port is therefore independent of the original.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/proto/ib/transport/completion_queue.hpp"
#include "wireproof/proto/ib/transport/memory_table.hpp"
#include "wireproof/proto/ib/transport/neighbours.hpp"
#include "wireproof/proto/ib/transport/owed_answers.hpp"
#include "wireproof/proto/ib/transport/peer_windows.hpp"
#include "wireproof/proto/ib/transport/port_events.hpp"
#include "wireproof/proto/ib/transport/receive_queue.hpp"

namespace wireproof::proto::ib {

enum class CompletionQueueId : std::uint32_t {};
enum class SharedReceiveQueueId : std::uint32_t {};

class Adapter {
public:
    explicit Adapter(const PeerWindows::Config& config,
                     std::optional<std::uint64_t> key_seed = std::nullopt)
        : memory(key_seed ? MemoryTable(*key_seed) : MemoryTable()), windows(config) {}

    MemoryTable memory;
    Neighbours neighbours;
    PeerWindows windows;
    OwedAnswers owed;

    CompletionQueueId add_completion_queue(std::size_t capacity) {
        return add<CompletionQueueId>(completion_queues_, CompletionQueue(capacity));
    }
    CompletionQueue& completion_queue(CompletionQueueId id) {
        return *completion_queues_[static_cast<std::size_t>(id)];
    }
    void remove(CompletionQueueId id) { remove(completion_queues_, id); }

    /// The oldest completion of the queue. RC-38: nothing if this is a message, and a one-sided
    /// completion that waits in another queue came before it, and after the last found_nothing().
    std::optional<Completion> next_completion(CompletionQueueId id) {
        CompletionQueue& queue = completion_queue(id);
        if (queue.size() == 0 || (queue.may_wait() && waits(queue))) return std::nullopt;
        return queue.poll();
    }
    /// A call in which the user polls the queue ends and has found nothing. The user may poll other
    /// queues now.
    void found_nothing(CompletionQueueId id) {
        if (completion_queue(id).found_nothing(one_sided_)) tell(PortEvent::What::completion, id);
    }
    void request_notify(CompletionQueueId id, bool solicited_only) {
        if (completion_queue(id).request_notify(solicited_only)) {
            tell(PortEvent::What::completion, id);
        }
    }

    SharedReceiveQueueId add_shared_receive_queue(std::uint32_t domain, std::size_t requests,
                                                  std::size_t pieces) {
        return add<SharedReceiveQueueId>(
            shared_receives_, SharedReceiveQueue{.domain = domain, .ring = {requests, pieces}});
    }
    SharedReceiveQueue& shared_receive_queue(SharedReceiveQueueId id) {
        return *shared_receives_[static_cast<std::size_t>(id)];
    }
    void remove(SharedReceiveQueueId id) { remove(shared_receives_, id); }

    /// Returns false if the queue has no room for the completion.
    bool complete(CompletionQueueId id, const Completion& completion, bool solicited = false) {
        CompletionQueue& queue = completion_queue(id);
        const bool lost_before = queue.overrun();
        if (is_one_sided(completion)) ++one_sided_;
        const CompletionQueue::Pushed pushed = queue.push(completion, solicited, one_sided_);
        if (pushed == CompletionQueue::Pushed::kept_and_told) tell(PortEvent::What::completion, id);
        if (queue.overrun() && !lost_before) tell(PortEvent::What::overrun, id);
        return pushed != CompletionQueue::Pushed::lost;
    }
    /// Adds the senders of datagrams whose completions were not polled.
    void add_senders(PeerSet& to) const {
        for (const auto& queue : completion_queues_) {
            if (queue) queue->add_senders(to);
        }
    }
    /// A queue pair with this number exists from now on, or no longer. Only one that exists has
    /// events.
    void add_queue_pair(std::uint32_t number) { events_.add(PortEvent::About::queue_pair, number); }
    void remove_queue_pair(std::uint32_t number) {
        events_.remove(PortEvent::About::queue_pair, number);
    }
    template <class Number>
    void tell(PortEvent::What what, Number number) {
        events_.tell(what, static_cast<std::uint32_t>(number));
    }
    /// Whether the object of this event exists.
    bool has(const PortEvent& event) const {
        return events_.has(PortEvent::about(event.what), event.number);
    }
    std::optional<PortEvent> next_event() { return events_.next(); }

    void fingerprint(Fingerprint& sink) const {
        memory.fingerprint(sink);
        neighbours.fingerprint(sink);
        windows.fingerprint(sink);
        owed.fingerprint(sink);
        // Counts only grow. What matters is their order.
        std::vector<CompletionQueue::Count> counts;
        for (const auto& queue : completion_queues_) {
            if (!queue) continue;
            queue->for_each_one_sided([&](CompletionQueue::Count one) { counts.push_back(one); });
        }
        std::ranges::sort(counts);
        const auto place_of = [&counts](CompletionQueue::Count count) {
            return std::ranges::upper_bound(counts, count) - counts.begin();
        };
        const auto add_all = [&sink](const auto& queues, const auto&... how) {
            sink.add(queues.size());
            for (const auto& queue : queues) {
                sink.add(queue.has_value());
                if (queue) queue->fingerprint(sink, how...);
            }
        };
        add_all(completion_queues_, place_of);
        add_all(shared_receives_);
        events_.fingerprint(sink);
    }

private:
    /// A one-sided completion that waits in another queue came before the next message of this one.
    bool waits(const CompletionQueue& queue) const {
        return std::ranges::any_of(completion_queues_, [&queue](const auto& other) {
            return other && &*other != &queue && other->precedes(queue);
        });
    }

    static constexpr PortEvent::About about(CompletionQueueId) {
        return PortEvent::About::completion_queue;
    }
    static constexpr PortEvent::About about(SharedReceiveQueueId) {
        return PortEvent::About::shared_receive_queue;
    }
    template <class Id, class T>
    Id add(std::vector<std::optional<T>>& to, T thing) {
        std::size_t place = 0;
        while (place < to.size() && to[place]) ++place;
        if (place == to.size()) to.emplace_back();
        events_.add(about(Id(place)), static_cast<std::uint32_t>(place));
        to[place].emplace(std::move(thing));
        return Id(place);
    }
    template <class Id, class T>
    void remove(std::vector<std::optional<T>>& from, Id id) {
        from[static_cast<std::size_t>(id)].reset();
        events_.remove(about(id), static_cast<std::uint32_t>(id));
    }

    std::vector<std::optional<CompletionQueue>> completion_queues_;
    std::vector<std::optional<SharedReceiveQueue>> shared_receives_;
    PortEvents events_;
    CompletionQueue::Count one_sided_ = 0;  // completions of all queues, ever
};

}  // namespace wireproof::proto::ib
