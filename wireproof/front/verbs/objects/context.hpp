// The result of opening the device: the public structure, and the Device that all contexts of the
// process share.
#pragma once

#include <memory>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/front/verbs/device/device.hpp"
#include "wireproof/front/verbs/objects/events.hpp"

namespace wireproof::verbs {

/// An event that waits for the program. The object of the event counts the events that the program
/// has taken. The program may destroy the object only after it has acknowledged all of these.
struct AsyncEvent {
    ibv_async_event event{};
    std::uint32_t* taken = nullptr;
};

struct Context {
    verbs_context extended{};  // its last member is the public structure
    std::shared_ptr<Device> device;
    EventQueue<AsyncEvent> async;
    std::uint32_t port_events = 0;  // taken by the program, which need not acknowledge them

    /// The Context that contains this public structure.
    static Context& of(ibv_context* context);
    /// In a forked child the device is dead: no call may use the device there.
    bool is_dead() const { return !device->is_ours(); }
    /// Forgets the waiting events that count in `taken`. Events that the program has taken are not
    /// affected.
    void forget_events(const std::uint32_t& taken) {
        async.remove([&taken](const AsyncEvent& one) { return one.taken == &taken; });
    }
};

/// The device of this process. The first call opens it, all contexts share it, and the last one
/// ends it.
Expected<std::shared_ptr<Device>> shared_device();

/// The operations that programs call through tables instead of by name.
void fill_operations(verbs_context& context);

/// The count of acknowledged events in an object of the program.
struct Acknowledged {
    pthread_mutex_t& lock;
    pthread_cond_t& changed;
    std::uint32_t& count;

    void add(std::uint32_t events) const;
    /// Waits until the program has acknowledged as many events as it has taken.
    void wait_for(const std::uint32_t& taken) const;
};

// The operations of the tables. Each is in the file of its object.
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
