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

/// What completions of datagrams say as their service level. On Ethernet nothing has one: adapters
/// tell there what kind of network header lies before the datagram, and UCX asks.
std::uint8_t level_of_datagrams(const Engine& engine);

/// A completion as verbs show it.
ibv_wc shown(const ib::Completion& completion, std::uint8_t level_of_datagrams);

}  // namespace wireproof::verbs
