#include "wireproof/front/verbs/objects/context.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <mutex>
#include <new>

#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/device/settings.hpp"
#include "wireproof/front/verbs/objects/device_facts.hpp"
#include "wireproof/front/verbs/objects/queue_pair.hpp"
#include "wireproof/front/verbs/objects/windows.hpp"

namespace wireproof::verbs {
namespace {

/// Never destroyed, because the keeper may run while the process exits.
struct Shared {
    std::mutex lock;
    std::weak_ptr<Device> device;
    // A thread that does not exist in the child may have held the lock.
    host::ForkWatch fork{[this] { new (&lock) std::mutex; }};

    static Shared& of_process() {
        static Shared& shared = []() -> Shared& {
            auto& made = *new Shared;
            std::atexit(leave);
            return made;
        }();
        return shared;
    }

    /// A program may exit as soon as it has all its data. The acknowledgements that it holds must
    /// still leave: an adapter would have sent them by then.
    static void leave() {
        const auto device = of_process().device.lock();
        if (device && device->is_ours()) device->release_all_acks();
    }
};

void explain(const std::string& message) {
    std::fprintf(stderr, "wireproof verbs: %s\n", message.c_str());
}

int open_context(ibv_device* listed, ibv_context*& opened) {
    errno = 0;
    auto device = shared_device();
    if (!device) {
        // The program is short of descriptors or memory. It may have more later, so it learns the
        // cause.
        const bool scarce = errno == EMFILE || errno == ENFILE || errno == ENOMEM;
        const int why = scarce ? errno : ENODEV;
        explain(device.error().message);
        return why;
    }
    auto context = std::make_unique<Context>();
    context->device = *device;
    fill_operations(context->extended);
    ibv_context& shown = context->extended.context;
    shown.device = listed;
    shown.cmd_fd = -1;
    shown.async_fd = context->async.handle();
    shown.num_comp_vectors = 1;
    ::pthread_mutex_init(&shown.mutex, nullptr);
    (*device)->hear_device(context.get(), [context = context.get()](Device::News news) {
        ibv_async_event event{};
        const bool fatal = news == Device::News::device_fatal;
        event.event_type = fatal                           ? IBV_EVENT_DEVICE_FATAL
                           : news == Device::News::port_up ? IBV_EVENT_PORT_ACTIVE
                                                           : IBV_EVENT_PORT_ERR;
        event.element.port_num = fatal ? 0 : limits::port;
        context->async.push({event, &context->port_events});
    });
    opened = &context.release()->extended.context;
    return 0;
}

}  // namespace

Context& Context::of(ibv_context* context) {
    // The public structure is the last member of the extended structure, and that is the first
    // member of Context.
    auto* const at = reinterpret_cast<std::byte*>(context) - offsetof(verbs_context, context);
    return *reinterpret_cast<Context*>(at);
}

void Acknowledged::add(std::uint32_t events) const {
    ::pthread_mutex_lock(&lock);
    count += events;
    ::pthread_cond_signal(&changed);
    ::pthread_mutex_unlock(&lock);
}

void Acknowledged::wait_for(const std::uint32_t& taken) const {
    ::pthread_mutex_lock(&lock);
    while (count != taken) ::pthread_cond_wait(&changed, &lock);
    ::pthread_mutex_unlock(&lock);
}

Expected<std::shared_ptr<Device>> shared_device() {
    Shared& shared = Shared::of_process();
    const std::lock_guard guard(shared.lock);
    if (auto known = shared.device.lock(); known && known->is_ours()) return known;
    const auto settings = settings_of_environment();
    if (!settings) return tl::unexpected(settings.error());
    const OpensDevice opening;
    auto device = Device::open(*settings);
    if (device) {
        shared.device = *device;
        tell_hooks_of(*device);
    }
    return device;
}

void fill_operations(verbs_context& context) {
    context.sz = sizeof context;
    context.context.abi_compat = __VERBS_ABI_IS_EXTENDED;
    context.query_port = query_port;
    context.query_device_ex = query_device;
    context.create_cq_ex = create_extended_cq;
    context.create_qp_ex = create_extended_queue_pair;
    ibv_context_ops& operations = context.context.ops;
    operations.poll_cq = poll_completions;
    operations.req_notify_cq = request_notification;
    operations.post_send = post_sends;
    operations.post_recv = post_receives;
    operations.post_srq_recv = post_shared_receives;
    operations.alloc_mw = allocate_window;
    operations.dealloc_mw = free_window;
    operations.bind_mw = bind_window;
}

}  // namespace wireproof::verbs

using wireproof::verbs::Acknowledged;
using wireproof::verbs::AsyncEvent;
using wireproof::verbs::Context;

ibv_context* ibv_open_device(ibv_device* device) {
    return wireproof::verbs::made<ibv_context>(
        [&](ibv_context*& opened) { return wireproof::verbs::open_context(device, opened); });
}

int ibv_close_device(ibv_context* shown) {
    return wireproof::verbs::called([shown] {
        Context* const context = &Context::of(shown);
        // A dead device is leaked on purpose: its thread and its lock are the parent's.
        if (context->is_dead()) {
            new std::shared_ptr(context->device);
        } else {
            context->device->release_all_acks();
            context->device->forget_all(context);
        }
        ::pthread_mutex_destroy(&shown->mutex);
        delete context;
        return 0;
    });
}

int ibv_get_async_event(ibv_context* context, ibv_async_event* event) {
    // The descriptor of a dead device is the parent's. The child must not take the parent's events.
    if (Context::of(context).is_dead()) {
        errno = EIO;
        return -1;
    }
    const auto one =
        Context::of(context).async.take([](const AsyncEvent& taken) { ++*taken.taken; });
    if (!one) return -1;
    *event = one->event;
    return 0;
}

void ibv_ack_async_event(ibv_async_event* event) {
    switch (event->event_type) {
        case IBV_EVENT_CQ_ERR: {
            ibv_cq& queue = *event->element.cq;
            return Acknowledged{queue.mutex, queue.cond, queue.async_events_completed}.add(1);
        }
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_QP_LAST_WQE_REACHED: {
            ibv_qp& pair = *event->element.qp;
            return Acknowledged{pair.mutex, pair.cond, pair.events_completed}.add(1);
        }
        case IBV_EVENT_SRQ_LIMIT_REACHED: {
            ibv_srq& queue = *event->element.srq;
            return Acknowledged{queue.mutex, queue.cond, queue.events_completed}.add(1);
        }
        default: return;
    }
}
