// Completion queues that a program reads member by member (ibv_create_cq_ex). One completion is
// current between start_poll and end_poll. Another thread that starts to poll the queue waits until
// end_poll, unless the program has promised that there is no other thread.
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/completion_queue.hpp"

namespace wireproof::verbs {
namespace {

CompletionQueue& queue_of(ibv_cq_ex* queue) {
    return static_cast<CompletionQueue&>(*queue);
}

/// Returns 0 if there is a completion, which is then the current one. Returns ENOENT if there is
/// none.
int make_current(CompletionQueue& queue, const std::optional<ibv_wc>& next) {
    if (!next) return ENOENT;
    queue.current = *next;
    queue.status = next->status;
    queue.wr_id = next->wr_id;
    return 0;
}

std::optional<ibv_wc> next_of(CompletionQueue& queue, proto::ib::Port& port) {
    const auto one = port.next_completion(queue.polled.id);
    if (!one) return std::nullopt;
    return shown(*one, level_of_datagrams(*Context::of(queue.context).device));
}

int start_poll(ibv_cq_ex* of, ibv_poll_cq_attr* attributes) {
    CompletionQueue& queue = queue_of(of);
    Context& context = Context::of(queue.context);
    if (context.is_dead()) return EIO;
    if (attributes != nullptr && attributes->comp_mask != 0) return EINVAL;
    std::unique_lock<std::mutex> batch(queue.batch, std::defer_lock);
    if (!queue.single_threaded) batch.lock();
    std::optional<ibv_wc> next;
    const int error = called([&] {
        context.device->polling(queue.polled, [&](proto::ib::Port& port) {
            next = next_of(queue, port);
            return next ? 1 : 0;
        });
        return 0;
    });
    if (error != 0) return error;
    const int none = make_current(queue, next);
    if (none == 0) batch.release();  // end_poll unlocks it
    return none;
}

// Takes a completion that is already in the queue. The next start_poll moves packets.
int next_poll(ibv_cq_ex* of) {
    CompletionQueue& queue = queue_of(of);
    Context& context = Context::of(queue.context);
    if (context.is_dead()) return EIO;
    std::optional<ibv_wc> next;
    const int error = called([&] {
        next = context.device->locked([&](proto::ib::Port& port) { return next_of(queue, port); });
        return 0;
    });
    return error != 0 ? error : make_current(queue, next);
}

void end_poll(ibv_cq_ex* of) {
    CompletionQueue& queue = queue_of(of);
    if (!queue.single_threaded) queue.batch.unlock();
}

/// A member of the current completion.
template <auto member>
auto read_of(ibv_cq_ex* of) {
    return queue_of(of).current.*member;
}

// The public function returns more bits than the completion has.
std::uint32_t read_slid(ibv_cq_ex* of) {
    return queue_of(of).current.slid;
}

std::uint32_t read_vendor_err(ibv_cq_ex*) {
    return 0;
}

/// The program may read the members that it asked for, and always status, id, opcode and flags.
void offer(ibv_cq_ex& queue, std::uint64_t asked) {
    queue.start_poll = &start_poll;
    queue.next_poll = &next_poll;
    queue.end_poll = &end_poll;
    queue.read_opcode = &read_of<&ibv_wc::opcode>;
    queue.read_vendor_err = &read_vendor_err;
    queue.read_wc_flags = &read_of<&ibv_wc::wc_flags>;
    queue.read_byte_len = offered(asked, IBV_WC_EX_WITH_BYTE_LEN, &read_of<&ibv_wc::byte_len>);
    // This member also holds the key that a Send invalidated.
    queue.read_imm_data = offered(asked, IBV_WC_EX_WITH_IMM, &read_of<&ibv_wc::imm_data>);
    queue.read_qp_num = offered(asked, IBV_WC_EX_WITH_QP_NUM, &read_of<&ibv_wc::qp_num>);
    queue.read_src_qp = offered(asked, IBV_WC_EX_WITH_SRC_QP, &read_of<&ibv_wc::src_qp>);
    queue.read_slid = offered(asked, IBV_WC_EX_WITH_SLID, &read_slid);
    queue.read_sl = offered(asked, IBV_WC_EX_WITH_SL, &read_of<&ibv_wc::sl>);
    queue.read_dlid_path_bits =
        offered(asked, IBV_WC_EX_WITH_DLID_PATH_BITS, &read_of<&ibv_wc::dlid_path_bits>);
}

int create_extended_queue(ibv_context* context, const ibv_cq_init_attr_ex& asked,
                          ibv_cq_ex*& created) {
    constexpr std::uint32_t known_members = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    constexpr std::uint32_t known_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
    const bool supported = (asked.comp_mask & ~known_members) == 0 &&
                           (asked.wc_flags & ~std::uint64_t{IBV_WC_STANDARD_FLAGS}) == 0;
    if (!supported) return EOPNOTSUPP;
    const bool has_flags = (asked.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0;
    if (has_flags && (asked.flags & ~known_flags) != 0) return EOPNOTSUPP;
    if (!limits::within(asked.cqe, limits::completions)) return EINVAL;
    if (!limits::within(asked.comp_vector, limits::completion_vectors)) return EINVAL;
    CompletionQueue* queue = nullptr;
    const int error =
        create_completion_queue(context, static_cast<int>(asked.cqe), asked.cq_context,
                                asked.channel, static_cast<int>(asked.comp_vector), queue);
    if (error != 0) return error;
    queue->single_threaded = has_flags && (asked.flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0;
    offer(*queue, asked.wc_flags);
    created = queue;
    return 0;
}

}  // namespace

ibv_cq_ex* create_extended_cq(ibv_context* context, ibv_cq_init_attr_ex* asked) {
    return made<ibv_cq_ex>(
        [&](ibv_cq_ex*& created) { return create_extended_queue(context, *asked, created); });
}

}  // namespace wireproof::verbs
