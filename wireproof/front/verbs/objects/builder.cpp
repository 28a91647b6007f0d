#include "wireproof/front/verbs/objects/builder.hpp"

#include "wireproof/front/verbs/objects/queue_pair.hpp"

namespace wireproof::verbs {
namespace {

Builder& builder_of(ibv_qp_ex* pair) {
    return QueuePair::of(&pair->qp_base).builder;
}

/// Adds a request that `make` completes. An exception becomes the error of the whole list.
template <class Make>
void add(ibv_qp_ex* pair, ibv_wr_opcode opcode, Make&& make) {
    Builder& builder = builder_of(pair);
    const int error = errno_of([&] {
        make(builder.add(*pair, opcode));
        return 0;
    });
    if (error != 0) builder.fail(error);
}

void add(ibv_qp_ex* pair, ibv_wr_opcode opcode) {
    add(pair, opcode, [](ibv_send_wr&) {});
}

void add_rdma(ibv_qp_ex* pair, ibv_wr_opcode opcode, std::uint32_t key, std::uint64_t address,
              __be32 immediate = 0) {
    add(pair, opcode, [&](ibv_send_wr& request) {
        request.wr.rdma.remote_addr = address;
        request.wr.rdma.rkey = key;
        request.imm_data = immediate;
    });
}

void add_atomic(ibv_qp_ex* pair, ibv_wr_opcode opcode, std::uint32_t key, std::uint64_t address,
                std::uint64_t compare_add, std::uint64_t swap) {
    add(pair, opcode, [&](ibv_send_wr& request) {
        request.wr.atomic = {
            .remote_addr = address, .compare_add = compare_add, .swap = swap, .rkey = key};
    });
}

void wr_atomic_cmp_swp(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address,
                       std::uint64_t compare, std::uint64_t swap) {
    add_atomic(pair, IBV_WR_ATOMIC_CMP_AND_SWP, key, address, compare, swap);
}

void wr_atomic_fetch_add(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address,
                         std::uint64_t added) {
    add_atomic(pair, IBV_WR_ATOMIC_FETCH_AND_ADD, key, address, added, 0);
}

void wr_bind_mw(ibv_qp_ex* pair, ibv_mw* window, std::uint32_t key, const ibv_mw_bind_info* info) {
    add(pair, IBV_WR_BIND_MW, [&](ibv_send_wr& request) {
        request.bind_mw.mw = window;
        request.bind_mw.rkey = key;
        request.bind_mw.bind_info = *info;
    });
}

void wr_local_inv(ibv_qp_ex* pair, std::uint32_t key) {
    add(pair, IBV_WR_LOCAL_INV, [&](ibv_send_wr& request) { request.invalidate_rkey = key; });
}

void wr_rdma_read(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address) {
    add_rdma(pair, IBV_WR_RDMA_READ, key, address);
}

void wr_rdma_write(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address) {
    add_rdma(pair, IBV_WR_RDMA_WRITE, key, address);
}

void wr_rdma_write_imm(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address,
                       __be32 immediate) {
    add_rdma(pair, IBV_WR_RDMA_WRITE_WITH_IMM, key, address, immediate);
}

void wr_send(ibv_qp_ex* pair) {
    add(pair, IBV_WR_SEND);
}

void wr_send_imm(ibv_qp_ex* pair, __be32 immediate) {
    add(pair, IBV_WR_SEND_WITH_IMM, [&](ibv_send_wr& request) { request.imm_data = immediate; });
}

void wr_send_inv(ibv_qp_ex* pair, std::uint32_t key) {
    add(pair, IBV_WR_SEND_WITH_INV, [&](ibv_send_wr& request) { request.invalidate_rkey = key; });
}

void wr_set_ud_addr(ibv_qp_ex* pair, ibv_ah* to, std::uint32_t number, std::uint32_t qkey) {
    builder_of(pair).last().wr.ud = {.ah = to, .remote_qpn = number, .remote_qkey = qkey};
}

void wr_set_inline_data_list(ibv_qp_ex* pair, std::size_t count, const ibv_data_buf* parts) {
    Builder& builder = builder_of(pair);
    const int error = errno_of([&] {
        builder.set_inline(parts, count);
        return 0;
    });
    if (error != 0) builder.fail(error);
}

void wr_set_inline_data(ibv_qp_ex* pair, void* address, std::size_t length) {
    const ibv_data_buf part{address, length};
    wr_set_inline_data_list(pair, 1, &part);
}

void wr_set_sge_list(ibv_qp_ex* pair, std::size_t count, const ibv_sge* pieces) {
    Builder& builder = builder_of(pair);
    const int error = errno_of([&] {
        builder.set_pieces(pieces, count);
        return 0;
    });
    if (error != 0) builder.fail(error);
}

void wr_set_sge(ibv_qp_ex* pair, std::uint32_t key, std::uint64_t address, std::uint32_t length) {
    const ibv_sge piece{address, length, key};
    wr_set_sge_list(pair, 1, &piece);
}

void wr_start(ibv_qp_ex* pair) {
    builder_of(pair).start();
}

int wr_complete(ibv_qp_ex* pair) {
    return builder_of(pair).complete(*pair);
}

void wr_abort(ibv_qp_ex* pair) {
    builder_of(pair).abort();
}

}  // namespace

std::uint64_t Builder::operations_of(ibv_qp_type type) {
    constexpr std::uint64_t datagrams = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;
    constexpr std::uint64_t connected =
        datagrams | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
        IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_SEND_WITH_INV;
    constexpr std::uint64_t reliable = connected | IBV_QP_EX_WITH_RDMA_READ |
                                       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
                                       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    return type == IBV_QPT_RC ? reliable : type == IBV_QPT_UC ? connected : datagrams;
}

void Builder::offer(ibv_qp_ex& pair, std::uint64_t operations) {
    pair.wr_rdma_write = offered(operations, IBV_QP_EX_WITH_RDMA_WRITE, &wr_rdma_write);
    pair.wr_rdma_write_imm =
        offered(operations, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, &wr_rdma_write_imm);
    pair.wr_send = offered(operations, IBV_QP_EX_WITH_SEND, &wr_send);
    pair.wr_send_imm = offered(operations, IBV_QP_EX_WITH_SEND_WITH_IMM, &wr_send_imm);
    pair.wr_send_inv = offered(operations, IBV_QP_EX_WITH_SEND_WITH_INV, &wr_send_inv);
    pair.wr_rdma_read = offered(operations, IBV_QP_EX_WITH_RDMA_READ, &wr_rdma_read);
    pair.wr_atomic_cmp_swp =
        offered(operations, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, &wr_atomic_cmp_swp);
    pair.wr_atomic_fetch_add =
        offered(operations, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, &wr_atomic_fetch_add);
    pair.wr_local_inv = offered(operations, IBV_QP_EX_WITH_LOCAL_INV, &wr_local_inv);
    pair.wr_bind_mw = offered(operations, IBV_QP_EX_WITH_BIND_MW, &wr_bind_mw);
    pair.wr_set_ud_addr = &wr_set_ud_addr;
    pair.wr_set_inline_data = &wr_set_inline_data;
    pair.wr_set_inline_data_list = &wr_set_inline_data_list;
    pair.wr_set_sge = &wr_set_sge;
    pair.wr_set_sge_list = &wr_set_sge_list;
    pair.wr_start = &wr_start;
    pair.wr_complete = &wr_complete;
    pair.wr_abort = &wr_abort;
}

void Builder::start() {
    lock_.lock();
    error_ = 0;
    requests_.clear();
    data_.clear();
    pieces_.clear();
    inline_bytes_.clear();
    inline_pieces_.clear();
}

ibv_send_wr& Builder::add(const ibv_qp_ex& pair, ibv_wr_opcode opcode) {
    data_.emplace_back();
    ibv_send_wr& request = requests_.emplace_back();
    request.wr_id = pair.wr_id;
    request.opcode = opcode;
    request.send_flags = pair.wr_flags & ~unsigned{IBV_SEND_INLINE};
    return request;
}

ibv_send_wr& Builder::last() {
    return requests_.empty() ? nowhere_ : requests_.back();
}

void Builder::set_pieces(const ibv_sge* pieces, std::size_t count) {
    if (requests_.empty()) return;
    data_.back() = {.first = pieces_.size(), .count = count};
    pieces_.insert(pieces_.end(), pieces, pieces + count);
}

void Builder::set_inline(const ibv_data_buf* parts, std::size_t count) {
    if (requests_.empty()) return;
    const std::size_t first = inline_bytes_.size();
    for (std::size_t i = 0; i < count; ++i) {
        const auto* const bytes = static_cast<const char*>(parts[i].addr);
        inline_bytes_.insert(inline_bytes_.end(), bytes, bytes + parts[i].length);
    }
    data_.back() = {.first = first, .count = inline_bytes_.size() - first, .inlined = true};
}

void Builder::join() {
    inline_pieces_.reserve(requests_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
        ibv_send_wr& request = requests_[i];
        const Data& data = data_[i];
        request.next = i + 1 < requests_.size() ? &requests_[i + 1] : nullptr;
        request.num_sge = static_cast<int>(data.inlined ? 1 : data.count);
        if (data.inlined) {
            const auto at = reinterpret_cast<std::uintptr_t>(inline_bytes_.data() + data.first);
            inline_pieces_.push_back({at, static_cast<std::uint32_t>(data.count), 0});
            request.sg_list = &inline_pieces_.back();
            request.send_flags |= IBV_SEND_INLINE;
        } else if (data.count > 0) {
            request.sg_list = &pieces_[data.first];
        }
    }
}

int Builder::complete(ibv_qp_ex& pair) {
    const int error = called([&] {
        if (error_ != 0 || requests_.empty()) return error_;
        join();
        return post_together(pair.qp_base, requests_.front(), requests_.size());
    });
    lock_.unlock();
    return error;
}

void Builder::abort() {
    lock_.unlock();
}

}  // namespace wireproof::verbs
