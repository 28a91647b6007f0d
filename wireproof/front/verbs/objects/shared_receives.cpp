#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/memory.hpp"
#include "wireproof/front/verbs/objects/queue_pair.hpp"

namespace wireproof::verbs {
namespace {

int create_shared_receives(ibv_pd* domain, ibv_srq_init_attr& asked, ibv_srq*& created) {
    Context& context = Context::of(domain->context);
    if (context.is_dead()) return EIO;
    const bool good = asked.attr.max_wr > 0 &&
                      limits::within(asked.attr.max_wr, limits::work_requests) &&
                      limits::within(asked.attr.max_sge, limits::pieces);
    if (!good) return EINVAL;
    const std::uint32_t pieces = std::max(asked.attr.max_sge, 1U);
    auto queue = std::make_unique<SharedReceives>();
    Device& device = *context.device;
    queue->id = device.locked([&](proto::ib::Port& port) {
        return port.add_shared_receive_queue(domain->handle, asked.attr.max_wr, pieces);
    });
    queue->context = domain->context;
    queue->srq_context = asked.srq_context;
    queue->pd = domain;
    queue->handle = static_cast<std::uint32_t>(queue->id);
    ::pthread_mutex_init(&queue->mutex, nullptr);
    ::pthread_cond_init(&queue->cond, nullptr);
    device.hear(&context, Device::About::shared_receive_queue, queue->handle,
                [one = queue.get(), &context](proto::ib::PortEvent::What) {
                    AsyncEvent event{.taken = &one->events_taken};
                    event.event.element.srq = one;
                    event.event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
                    context.async.push(event);
                });
    ++ProtectionDomain::of(domain).users;
    asked.attr.max_sge = pieces;
    created = queue.release();
    return 0;
}

int modify_shared_receives(SharedReceives& queue, const ibv_srq_attr& attributes, int mask) {
    Context& context = Context::of(queue.context);
    if (context.is_dead()) return EIO;
    if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
    const bool resizes = (mask & IBV_SRQ_MAX_WR) != 0;
    const bool limits_it = (mask & IBV_SRQ_LIMIT) != 0;
    if (resizes &&
        (attributes.max_wr == 0 || !limits::within(attributes.max_wr, limits::work_requests))) {
        return EINVAL;
    }
    return context.device->locked([&](proto::ib::Port& port) {
        proto::ib::SharedReceiveQueue& of = port.shared_receive_queue(queue.id);
        const std::size_t room = resizes ? attributes.max_wr : of.ring.capacity();
        if (limits_it && attributes.srq_limit > room) return EINVAL;
        if (resizes && !of.ring.resize(attributes.max_wr)) return EINVAL;
        if (limits_it) of.limit = attributes.srq_limit;
        return 0;
    });
}

int query_shared_receives(const SharedReceives& queue, ibv_srq_attr& attributes) {
    Context& context = Context::of(queue.context);
    if (context.is_dead()) return EIO;
    attributes = context.device->locked([&](proto::ib::Port& port) {
        const proto::ib::SharedReceiveQueue& of = port.shared_receive_queue(queue.id);
        return ibv_srq_attr{.max_wr = static_cast<std::uint32_t>(of.ring.capacity()),
                            .max_sge = static_cast<std::uint32_t>(of.ring.pieces_max()),
                            .srq_limit = static_cast<std::uint32_t>(of.limit)};
    });
    return 0;
}

int destroy_shared_receives(SharedReceives& queue) {
    Context& context = Context::of(queue.context);
    if (context.is_dead()) return EIO;
    Device& device = *context.device;
    if (!device.locked([&](proto::ib::Port& port) { return port.remove(queue.id); })) return EBUSY;
    device.forget(Device::About::shared_receive_queue, queue.handle);
    context.forget_events(queue.events_taken);
    Acknowledged{queue.mutex, queue.cond, queue.events_completed}.wait_for(queue.events_taken);
    --ProtectionDomain::of(queue.pd).users;
    ::pthread_mutex_destroy(&queue.mutex);
    ::pthread_cond_destroy(&queue.cond);
    delete &queue;
    return 0;
}

}  // namespace
}  // namespace wireproof::verbs

using namespace wireproof;
using verbs::SharedReceives;

ibv_srq* ibv_create_srq(ibv_pd* domain, ibv_srq_init_attr* asked) {
    return verbs::made<ibv_srq>(
        [&](ibv_srq*& created) { return verbs::create_shared_receives(domain, *asked, created); });
}

int ibv_modify_srq(ibv_srq* queue, ibv_srq_attr* attributes, int mask) {
    return verbs::called([&] {
        return verbs::modify_shared_receives(SharedReceives::of(queue), *attributes, mask);
    });
}

int ibv_query_srq(ibv_srq* queue, ibv_srq_attr* attributes) {
    return verbs::called(
        [&] { return verbs::query_shared_receives(SharedReceives::of(queue), *attributes); });
}

int ibv_destroy_srq(ibv_srq* queue) {
    return verbs::called([&] { return verbs::destroy_shared_receives(SharedReceives::of(queue)); });
}
