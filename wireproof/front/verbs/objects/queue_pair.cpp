#include "wireproof/front/verbs/objects/queue_pair.hpp"

#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/attributes.hpp"
#include "wireproof/front/verbs/objects/completion_queue.hpp"
#include "wireproof/front/verbs/objects/memory.hpp"

namespace wireproof::verbs {
namespace {

std::optional<proto::ib::Transport> transport_of(ibv_qp_type type) {
    switch (type) {
        case IBV_QPT_RC: return proto::ib::Transport::rc;
        case IBV_QPT_UC: return proto::ib::Transport::uc;
        case IBV_QPT_UD: return proto::ib::Transport::ud;
        default: return std::nullopt;
    }
}

bool within_limits(const ibv_qp_cap& asked, bool shared_receives) {
    const bool sends = limits::within(asked.max_send_wr, limits::work_requests) &&
                       limits::within(asked.max_send_sge, limits::pieces) &&
                       limits::within(asked.max_inline_data, limits::inline_data);
    const bool receives = limits::within(asked.max_recv_wr, limits::work_requests) &&
                          limits::within(asked.max_recv_sge, limits::pieces);
    return sends && (shared_receives || receives);
}

/// The capacities that the queue pair gets. Each queue has at least one place: a queue of length 0
/// would take no request. With shared receives, the sizes of an own receive queue are ignored.
ibv_qp_cap granted(ibv_qp_cap asked, bool shared_receives) {
    if (shared_receives) asked.max_recv_wr = asked.max_recv_sge = 0;
    const std::uint32_t pieces = std::max({asked.max_send_sge, asked.max_recv_sge, 1U});
    asked.max_send_wr = std::max(asked.max_send_wr, 1U);
    asked.max_send_sge = pieces;
    if (!shared_receives) {
        asked.max_recv_wr = std::max(asked.max_recv_wr, 1U);
        asked.max_recv_sge = pieces;
    }
    return asked;
}

proto::ib::QueuePairConfig config_of(const ibv_pd& domain, const ibv_qp_init_attr& asked,
                                     proto::ib::Transport transport, const ibv_qp_cap& capacity) {
    proto::ib::QueuePairConfig config;
    config.transport = transport;
    config.domain = domain.handle;
    config.send_completions = CompletionQueue::of(asked.send_cq).polled.id;
    config.receive_completions = CompletionQueue::of(asked.recv_cq).polled.id;
    if (asked.srq != nullptr) config.shared_receives = SharedReceives::of(asked.srq).id;
    config.limits = {.sends = capacity.max_send_wr,
                     .receives = capacity.max_recv_wr,
                     .pieces = capacity.max_send_sge,
                     .inlined = capacity.max_inline_data};
    config.signal_all = asked.sq_sig_all != 0;
    // As late as the specification allows. A busy machine may run the peer's process late. A
    // timeout that comes too early sends all packets in flight again.
    config.timeout_factor = 4;
    config.ack_delay = proto::ib::usual_ack_delay;
    config.message_hold = proto::ib::usual_message_hold;
    config.asks_after_silence = true;
    config.acks_unasked = true;
    return config;
}

std::optional<ibv_event_type> event_of(proto::ib::PortEvent::What what) {
    using What = proto::ib::PortEvent::What;
    switch (what) {
        case What::completion_lost:
        case What::receive_faulty: return IBV_EVENT_QP_FATAL;
        case What::established: return IBV_EVENT_COMM_EST;
        case What::drained: return IBV_EVENT_SQ_DRAINED;
        case What::request_refused: return IBV_EVENT_QP_REQ_ERR;
        case What::access_refused: return IBV_EVENT_QP_ACCESS_ERR;
        case What::receives_flushed: return IBV_EVENT_QP_LAST_WQE_REACHED;
        default: return std::nullopt;
    }
}

int create_queue_pair(ibv_pd* domain, ibv_qp_init_attr& asked, ibv_qp*& created) {
    Context& context = Context::of(domain->context);
    if (context.is_dead()) return EIO;
    const auto transport = transport_of(asked.qp_type);
    if (!transport) return EOPNOTSUPP;
    const bool shared = asked.srq != nullptr;
    if (asked.send_cq == nullptr || asked.recv_cq == nullptr) return EINVAL;
    if (!within_limits(asked.cap, shared)) return EINVAL;
    const ibv_qp_cap capacity = granted(asked.cap, shared);
    auto pair = std::make_unique<QueuePair>();
    Device& device = *context.device;
    int error = 0;
    const std::uint32_t number = device.locked([&](proto::ib::Port& port) -> std::uint32_t {
        if (port.queue_pairs() >= static_cast<std::size_t>(limits::queue_pairs)) {
            error = ENOMEM;
            return 0;
        }
        const auto added = port.add_queue_pair(config_of(*domain, asked, *transport, capacity));
        if (!added) error = EINVAL;
        return added.value_or(0);
    });
    if (error != 0) return error;
    ibv_qp& shown = pair->shown();
    shown.context = domain->context;
    shown.qp_context = asked.qp_context;
    shown.pd = domain;
    shown.send_cq = asked.send_cq;
    shown.recv_cq = asked.recv_cq;
    shown.srq = asked.srq;
    shown.handle = shown.qp_num = number;
    shown.state = IBV_QPS_RESET;
    shown.qp_type = asked.qp_type;
    ::pthread_mutex_init(&shown.mutex, nullptr);
    ::pthread_cond_init(&shown.cond, nullptr);
    pair->capacity = capacity;
    pair->signals_all = asked.sq_sig_all != 0;
    device.plan_failures(number);
    device.hear(&context, Device::About::queue_pair, number,
                [one = pair.get(), &context](proto::ib::PortEvent::What what) {
                    const auto type = event_of(what);
                    if (!type) return;
                    AsyncEvent event{.taken = &one->events_taken};
                    event.event.element.qp = &one->shown();
                    event.event.event_type = *type;
                    context.async.push(event);
                });
    ++ProtectionDomain::of(domain).users;
    asked.cap = capacity;
    created = &pair.release()->shown();
    return 0;
}

int destroy_queue_pair(QueuePair& pair) {
    ibv_qp& shown = pair.shown();
    Context& context = Context::of(shown.context);
    if (context.is_dead()) return EIO;
    Device& device = *context.device;
    device.ending(shown.qp_num,
                  [&](proto::ib::Port& port) { return port.remove_queue_pair(shown.qp_num); });
    device.forget(Device::About::queue_pair, shown.qp_num);
    context.forget_events(pair.events_taken);
    Acknowledged{shown.mutex, shown.cond, shown.events_completed}.wait_for(pair.events_taken);
    --ProtectionDomain::of(shown.pd).users;
    ::pthread_mutex_destroy(&shown.mutex);
    ::pthread_cond_destroy(&shown.cond);
    delete &pair;
    return 0;
}

int modify_queue_pair(QueuePair& pair, const ibv_qp_attr& attributes, int mask) {
    ibv_qp& shown = pair.shown();
    Context& context = Context::of(shown.context);
    if (context.is_dead()) return EIO;
    auto change = change_of(attributes, mask);
    if (!change) return EINVAL;
    Device& device = *context.device;
    std::optional<Address> address;
    if ((mask & IBV_QP_AV) != 0) {
        address = address_of(attributes.ah_attr, device.subnet());
        if (!address) return EINVAL;
        change->congestion = device.congestion_to(*address);
    }
    const bool ends = change->state == proto::ib::QueuePairState::reset ||
                      change->state == proto::ib::QueuePairState::error;
    const auto modify = [&](proto::ib::Port& port) {
        if (address) change->address = device.find_peer(*address);
        if (address && !change->address) return false;
        return port.modify(shown.qp_num, *change) == proto::ib::ModifyStatus::done;
    };
    if (!(ends ? device.ending(shown.qp_num, modify) : device.posting(modify))) return EINVAL;
    if ((mask & IBV_QP_AV) != 0) pair.address = attributes.ah_attr;
    if (change->state) {
        shown.state = attributes.qp_state;
        if (*change->state == proto::ib::QueuePairState::rtr) device.start_keeper();
    }
    return 0;
}

int query_queue_pair(QueuePair& pair, ibv_qp_attr& attributes, int mask,
                     ibv_qp_init_attr& created) {
    ibv_qp& shown = pair.shown();
    Context& context = Context::of(shown.context);
    if (context.is_dead()) return EIO;
    attributes = context.device->locked([&](proto::ib::Port& port) {
        return verbs::shown(*port.queue_pair(shown.qp_num), *port.psns(shown.qp_num));
    });
    attributes.ah_attr = pair.address;
    attributes.cap = pair.capacity;
    // The genuine library leaves the member alone if the program does not ask for the state. UCX
    // relies on this after a failure.
    if ((mask & IBV_QP_STATE) != 0) shown.state = attributes.qp_state;
    created = {.qp_context = shown.qp_context,
               .send_cq = shown.send_cq,
               .recv_cq = shown.recv_cq,
               .srq = shown.srq,
               .cap = pair.capacity,
               .qp_type = shown.qp_type,
               .sq_sig_all = pair.signals_all ? 1 : 0};
    return 0;
}

int create_queue_pair(const ibv_qp_init_attr_ex& asked, ibv_qp*& created, ibv_qp_cap& granted) {
    constexpr std::uint32_t known =
        IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    if ((asked.comp_mask & ~known) != 0) return EOPNOTSUPP;
    if ((asked.comp_mask & IBV_QP_INIT_ATTR_PD) == 0 || asked.pd == nullptr) return EINVAL;
    const bool flags = (asked.comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) != 0;
    if (flags && asked.create_flags != 0) return EOPNOTSUPP;
    const bool builds = (asked.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
    const std::uint64_t operations = builds ? asked.send_ops_flags : 0;
    if ((operations & ~Builder::operations_of(asked.qp_type)) != 0) return EOPNOTSUPP;
    ibv_qp_init_attr plain{.qp_context = asked.qp_context,
                           .send_cq = asked.send_cq,
                           .recv_cq = asked.recv_cq,
                           .srq = asked.srq,
                           .cap = asked.cap,
                           .qp_type = asked.qp_type,
                           .sq_sig_all = asked.sq_sig_all};
    if (const int error = create_queue_pair(asked.pd, plain, created); error != 0) return error;
    granted = plain.cap;
    QueuePair& pair = QueuePair::of(created);
    pair.built = operations;
    if (operations != 0) Builder::offer(pair.extended, operations);
    return 0;
}

}  // namespace

ibv_qp* create_extended_queue_pair(ibv_context*, ibv_qp_init_attr_ex* asked) {
    return made<ibv_qp>(
        [&](ibv_qp*& created) { return create_queue_pair(*asked, created, asked->cap); });
}

}  // namespace wireproof::verbs

using namespace wireproof;
using verbs::QueuePair;

ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr* asked) {
    return verbs::made<ibv_qp>(
        [&](ibv_qp*& created) { return verbs::create_queue_pair(domain, *asked, created); });
}

int ibv_destroy_qp(ibv_qp* queue_pair) {
    return verbs::called([&] { return verbs::destroy_queue_pair(QueuePair::of(queue_pair)); });
}

int ibv_modify_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask) {
    return verbs::called(
        [&] { return verbs::modify_queue_pair(QueuePair::of(queue_pair), *attributes, mask); });
}

int ibv_query_qp(ibv_qp* queue_pair, ibv_qp_attr* attributes, int mask, ibv_qp_init_attr* created) {
    return verbs::called([&] {
        return verbs::query_queue_pair(QueuePair::of(queue_pair), *attributes, mask, *created);
    });
}

// Only ibv_create_qp_ex makes queue pairs that have the extended operations.
ibv_qp_ex* ibv_qp_to_qp_ex(ibv_qp* queue_pair) {
    QueuePair& pair = QueuePair::of(queue_pair);
    return pair.built != 0 ? &pair.extended : nullptr;
}

int ibv_query_qp_data_in_order(ibv_qp*, ibv_wr_opcode, std::uint32_t) {
    return 0;
}
