// What a program gets when it opens the device: the public structure, and behind it the engine that
// all contexts of the process share.
#pragma once

#include <memory>

#include "wireproof/front/verbs/api.hpp"
#include "wireproof/front/verbs/engine.hpp"
#include "wireproof/front/verbs/events.hpp"

namespace wireproof::verbs {

/// Waits for the program. What it is about counts those that the program has taken, and may be
/// destroyed only when as many have been acknowledged.
struct AsyncEvent {
    ibv_async_event event{};
    std::uint32_t* taken = nullptr;
};

struct Context {
    verbs_context extended{};  // the public structure is its last member
    std::shared_ptr<Engine> engine;
    EventQueue<AsyncEvent> async;
    std::uint32_t port_events = 0;  // that the program has taken; it need not acknowledge them

    /// Of the public structure in a Context.
    static Context& of(ibv_context* context);
    /// In a forked child the device is dead: no call may use the engine there.
    bool is_dead() const { return !engine->is_ours(); }
    /// Events counted in `taken` are forgotten, but for those that the program has taken.
    void forget_events(const std::uint32_t& taken) {
        async.remove([&taken](const AsyncEvent& one) { return one.taken == &taken; });
    }
};

/// The engine of this process, opened if it is not. Shared by all contexts, ended with the last.
Expected<std::shared_ptr<Engine>> shared_engine();

/// The operations that programs reach through tables rather than by name.
void fill_operations(verbs_context& context);

/// Of a structure whose events the program acknowledges.
struct Acknowledged {
    pthread_mutex_t& lock;
    pthread_cond_t& changed;
    std::uint32_t& count;

    void add(std::uint32_t events) const;
    /// Waits until there are as many as were taken.
    void wait_for(const std::uint32_t& taken) const;
};

// Those of the tables, each in the file of what it is about.
int poll_completions(ibv_cq* queue, int count, ibv_wc* completions);
int request_notification(ibv_cq* queue, int solicited_only);
int post_sends(ibv_qp* queue_pair, ibv_send_wr* requests, ibv_send_wr** bad);
int post_receives(ibv_qp* queue_pair, ibv_recv_wr* requests, ibv_recv_wr** bad);
int post_shared_receives(ibv_srq* queue, ibv_recv_wr* requests, ibv_recv_wr** bad);
ibv_cq_ex* create_extended_cq(ibv_context* context, ibv_cq_init_attr_ex* asked);
int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t size);
int query_device(ibv_context* context, const ibv_query_device_ex_input* input,
                 ibv_device_attr_ex* attributes, std::size_t size);

}  // namespace wireproof::verbs
