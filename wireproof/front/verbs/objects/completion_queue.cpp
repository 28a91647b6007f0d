#include "wireproof/front/verbs/objects/completion_queue.hpp"

#include <arpa/inet.h>

#include <array>

#include "wireproof/front/verbs/device/limits.hpp"

namespace wireproof::verbs {
namespace {

constexpr std::array statuses = {
    IBV_WC_SUCCESS,        IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR,
    IBV_WC_WR_FLUSH_ERR,   IBV_WC_MW_BIND_ERR, IBV_WC_BAD_RESP_ERR,  IBV_WC_REM_INV_REQ_ERR,
    IBV_WC_REM_ACCESS_ERR, IBV_WC_REM_OP_ERR,  IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR,
};
static_assert(statuses.size() == proto::ib::completion_status_names.size());

constexpr std::array kinds = {
    IBV_WC_SEND,      IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
    IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD,  IBV_WC_BIND_MW,
    IBV_WC_LOCAL_INV, IBV_WC_RECV,       IBV_WC_RECV_RDMA_WITH_IMM,
};
static_assert(kinds[static_cast<std::size_t>(proto::ib::CompletionKind::receive_write)] ==
              IBV_WC_RECV_RDMA_WITH_IMM);

// The numbers that adapters of mlx5 use.
constexpr std::uint8_t udp_over_ipv6 = 9;
constexpr std::uint8_t udp_over_ipv4 = 10;

void count_user(ibv_comp_channel& channel, int change) {
    ::pthread_mutex_lock(&channel.context->mutex);
    channel.refcnt += change;
    ::pthread_mutex_unlock(&channel.context->mutex);
}

int destroy_completion_queue(CompletionQueue& queue) {
    Context& context = Context::of(queue.context);
    if (context.is_dead()) return EIO;
    Device& device = *context.device;
    if (device.locked([&](proto::ib::Port& port) { return port.is_used(queue.polled.id); }))
        return EBUSY;
    device.forget(Device::About::completion_queue, queue.handle);
    if (queue.channel != nullptr) {
        static_cast<Channel*>(queue.channel)->events.remove([&](const CompletionQueue* one) {
            return one == &queue;
        });
        count_user(*queue.channel, -1);
    }
    context.forget_events(queue.async_taken);
    Acknowledged{queue.mutex, queue.cond, queue.comp_events_completed}.wait_for(queue.told);
    Acknowledged{queue.mutex, queue.cond, queue.async_events_completed}.wait_for(queue.async_taken);
    device.locked([&](proto::ib::Port& port) { return port.remove(queue.polled.id); });
    ::pthread_mutex_destroy(&queue.mutex);
    ::pthread_cond_destroy(&queue.cond);
    delete &queue;
    return 0;
}

}  // namespace

int create_completion_queue(ibv_context* of, int asked, void* user, ibv_comp_channel* channel,
                            int vector, CompletionQueue*& created) {
    Context& context = Context::of(of);
    if (context.is_dead()) return EIO;
    const bool good = asked > 0 && asked <= limits::completions && vector >= 0 &&
                      vector < limits::completion_vectors;
    if (!good) return EINVAL;
    auto queue = std::make_unique<CompletionQueue>();
    Device& device = *context.device;
    queue->polled.id = device.locked([&](proto::ib::Port& port) {
        return port.add_completion_queue(static_cast<std::size_t>(asked));
    });
    queue->context = of;
    queue->channel = channel;
    queue->cq_context = user;
    queue->handle = static_cast<std::uint32_t>(queue->polled.id);
    queue->cqe = asked;
    ::pthread_mutex_init(&queue->mutex, nullptr);
    ::pthread_cond_init(&queue->cond, nullptr);
    device.hear(&context, Device::About::completion_queue, queue->handle,
                [one = queue.get(), &context](proto::ib::PortEvent::What what) {
                    if (what == proto::ib::PortEvent::What::completion) {
                        if (one->channel != nullptr) {
                            static_cast<Channel*>(one->channel)->events.push(one);
                        }
                        return;
                    }
                    AsyncEvent event{.taken = &one->async_taken};
                    event.event.element.cq = one->shown();
                    event.event.event_type = IBV_EVENT_CQ_ERR;
                    context.async.push(event);
                });
    if (channel != nullptr) count_user(*channel, 1);
    created = queue.release();
    return 0;
}

std::uint8_t level_of_datagrams(const Device& device) {
    if (device.subnet() != nullptr) return 0;
    return device.address().family == Address::Family::ipv4 ? udp_over_ipv4 : udp_over_ipv6;
}

ibv_wc shown(const proto::ib::Completion& completion, std::uint8_t level) {
    ibv_wc shown{};
    shown.wr_id = completion.id;
    shown.status = statuses[static_cast<std::size_t>(completion.status)];
    shown.opcode = kinds[static_cast<std::size_t>(completion.kind)];
    shown.byte_len = completion.length;
    shown.qp_num = completion.queue_pair;
    shown.src_qp = completion.from_queue_pair;
    if (completion.immediate) {
        shown.imm_data = ::htonl(*completion.immediate);
        shown.wc_flags |= IBV_WC_WITH_IMM;
    } else if (completion.invalidated) {
        shown.invalidated_rkey = *completion.invalidated;
        shown.wc_flags |= IBV_WC_WITH_INV;
    }
    // Only completions of datagrams name the sender. A network header is in front of the datagram.
    if (completion.from_queue_pair != 0) {
        shown.wc_flags |= IBV_WC_GRH;
        shown.sl = level;
    }
    return shown;
}

int poll_completions(ibv_cq* of, int count, ibv_wc* completions) {
    CompletionQueue& queue = CompletionQueue::of(of);
    Context& context = Context::of(queue.context);
    if (context.is_dead() || count < 0) return -1;
    int polled = 0;
    const std::uint8_t level = level_of_datagrams(*context.device);
    const int error = called([&] {
        polled = context.device->polling(queue.polled, [&](proto::ib::Port& port) {
            int taken = 0;
            for (; taken < count; ++taken) {
                const auto one = port.next_completion(queue.polled.id);
                if (!one) break;
                completions[taken] = shown(*one, level);
            }
            return taken;
        });
        return 0;
    });
    return error == 0 ? polled : -1;
}

int request_notification(ibv_cq* of, int solicited_only) {
    CompletionQueue& queue = CompletionQueue::of(of);
    Context& context = Context::of(queue.context);
    if (context.is_dead()) return EIO;
    return called([&] {
        return context.device->before_sleep([&](proto::ib::Port& port) {
            port.request_notify(queue.polled.id, solicited_only != 0);
            return 0;
        });
    });
}

}  // namespace wireproof::verbs

using namespace wireproof;
using verbs::Channel;
using verbs::CompletionQueue;
using verbs::Context;

ibv_comp_channel* ibv_create_comp_channel(ibv_context* context) {
    return verbs::made<ibv_comp_channel>([&](ibv_comp_channel*& created) {
        auto channel = std::make_unique<Channel>();
        channel->context = context;
        channel->fd = channel->events.handle();
        created = channel.release();
        return 0;
    });
}

int ibv_destroy_comp_channel(ibv_comp_channel* channel) {
    return verbs::called([channel] {
        if (channel->refcnt != 0) return EBUSY;
        delete static_cast<Channel*>(channel);
        return 0;
    });
}

ibv_cq* ibv_create_cq(ibv_context* context, int asked, void* user, ibv_comp_channel* channel,
                      int vector) {
    return verbs::made<ibv_cq>([&](ibv_cq*& created) {
        CompletionQueue* queue = nullptr;
        const int error =
            verbs::create_completion_queue(context, asked, user, channel, vector, queue);
        if (error == 0) created = queue->shown();
        return error;
    });
}

int ibv_resize_cq(ibv_cq* of, int asked) {
    CompletionQueue& queue = CompletionQueue::of(of);
    Context& context = Context::of(queue.context);
    if (context.is_dead()) return EIO;
    if (asked <= 0 || asked > verbs::limits::completions) return EINVAL;
    return verbs::called([&] {
        const bool done = context.device->locked([&](proto::ib::Port& port) {
            return port.completion_queue(queue.polled.id).resize(static_cast<std::size_t>(asked));
        });
        if (!done) return EINVAL;  // it holds more completions than that
        queue.cqe = asked;
        return 0;
    });
}

int ibv_destroy_cq(ibv_cq* queue) {
    return verbs::called(
        [&] { return verbs::destroy_completion_queue(CompletionQueue::of(queue)); });
}

int ibv_get_cq_event(ibv_comp_channel* channel, ibv_cq** queue, void** user) {
    if (Context::of(channel->context).is_dead()) {
        errno = EIO;
        return -1;
    }
    const auto told =
        static_cast<Channel*>(channel)->events.take([](CompletionQueue* one) { ++one->told; });
    if (!told) return -1;
    *queue = (*told)->shown();
    *user = (*told)->cq_context;
    return 0;
}

void ibv_ack_cq_events(ibv_cq* queue, unsigned count) {
    verbs::Acknowledged{queue->mutex, queue->cond, queue->comp_events_completed}.add(count);
}
