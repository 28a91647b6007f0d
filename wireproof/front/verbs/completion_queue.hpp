// Completion queues, and the channels that tell of completions.
#pragma once

#include "wireproof/front/verbs/api.hpp"
#include "wireproof/front/verbs/context.hpp"
#include "wireproof/proto/ib/port.hpp"

namespace wireproof::verbs {

struct CompletionQueue;

struct Channel : ibv_comp_channel {
    EventQueue<CompletionQueue*> events;
};

struct CompletionQueue : ibv_cq {
    ib::CompletionQueueId id{};
    std::uint32_t told = 0;         // events that the program has taken from the channel
    std::uint32_t async_taken = 0;  // and from the context

    static CompletionQueue& of(ibv_cq* queue) { return *static_cast<CompletionQueue*>(queue); }
};

/// A completion as verbs show it, on a device of that address.
ibv_wc shown(const ib::Completion& completion, const Address& device);

}  // namespace wireproof::verbs
