// Completion queues, and the channels that report completions.
#pragma once

#include <mutex>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/front/verbs/objects/context.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::verbs {

struct CompletionQueue;

struct Channel : ibv_comp_channel {
    EventQueue<CompletionQueue*> events;
};

/// The extended structure. It begins with the members of an ibv_cq.
struct CompletionQueue : ibv_cq_ex {
    Device::PolledQueue polled;
    std::mutex batch;               // held from start_poll to end_poll, unless single_threaded
    bool single_threaded = false;   // the program itself locks the queue
    ibv_wc current{};               // between start_poll and end_poll
    std::uint32_t told = 0;         // events that the program has taken from the channel
    std::uint32_t async_taken = 0;  // events that the program has taken from the context

    static CompletionQueue& of(ibv_cq* queue) {
        return *static_cast<CompletionQueue*>(reinterpret_cast<ibv_cq_ex*>(queue));
    }
    ibv_cq* shown() { return ibv_cq_ex_to_cq(this); }
};

/// Returns 0 or an errno.
int create_completion_queue(ibv_context* context, int asked, void* user, ibv_comp_channel* channel,
                            int vector, CompletionQueue*& created);

/// The service level in completions of datagrams. On Ethernet there is no service level. There
/// adapters use the field for the kind of network header before the datagram, and UCX reads it.
std::uint8_t level_of_datagrams(const Device& device);

/// A completion in the form of verbs.
ibv_wc shown(const proto::ib::Completion& completion, std::uint8_t level_of_datagrams);

}  // namespace wireproof::verbs
