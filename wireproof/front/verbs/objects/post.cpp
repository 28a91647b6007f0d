// Converts work requests of verbs into those of the port.
#include <arpa/inet.h>

#include <array>

#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/queue_pair.hpp"
#include "wireproof/front/verbs/objects/windows.hpp"

namespace wireproof::verbs {
namespace {

constexpr auto pieces_max = proto::ib::SendEntry::pieces_max;

std::optional<proto::ib::Request> request_of(ibv_wr_opcode opcode) {
    switch (opcode) {
        case IBV_WR_RDMA_WRITE: return proto::ib::Request::write;
        case IBV_WR_RDMA_WRITE_WITH_IMM: return proto::ib::Request::write_immediate;
        case IBV_WR_SEND: return proto::ib::Request::send;
        case IBV_WR_SEND_WITH_IMM: return proto::ib::Request::send_immediate;
        case IBV_WR_SEND_WITH_INV: return proto::ib::Request::send_invalidate;
        case IBV_WR_RDMA_READ: return proto::ib::Request::read;
        case IBV_WR_ATOMIC_CMP_AND_SWP: return proto::ib::Request::compare_swap;
        case IBV_WR_ATOMIC_FETCH_AND_ADD: return proto::ib::Request::fetch_add;
        case IBV_WR_LOCAL_INV: return proto::ib::Request::local_invalidate;
        case IBV_WR_BIND_MW: return proto::ib::Request::bind_window;
        default: return std::nullopt;
    }
}

int errno_of(proto::ib::PostStatus status) {
    switch (status) {
        case proto::ib::PostStatus::accepted: return 0;
        case proto::ib::PostStatus::queue_full: return ENOMEM;
        default: return EINVAL;
    }
}

void add_target(const ibv_send_wr& wr, ibv_qp_type type, proto::ib::WorkTerms& terms) {
    if (type == IBV_QPT_UD) {
        terms.to = AddressHandle::of(wr.wr.ud.ah).peer;
        terms.to_queue_pair = wr.wr.ud.remote_qpn & 0xFFFFFF;
        terms.qkey = wr.wr.ud.remote_qkey;
    } else if (proto::ib::is_atomic(terms.request)) {
        terms.remote_address = wr.wr.atomic.remote_addr;
        terms.remote_key = wr.wr.atomic.rkey;
        const bool swaps = terms.request == proto::ib::Request::compare_swap;
        terms.compare = swaps ? wr.wr.atomic.compare_add : 0;
        terms.swap_or_add = swaps ? wr.wr.atomic.swap : wr.wr.atomic.compare_add;
    } else if (proto::ib::is_write(terms.request) || terms.request == proto::ib::Request::read) {
        terms.remote_address = wr.wr.rdma.remote_addr;
        terms.remote_key = wr.wr.rdma.rkey;
    } else {
        terms.remote_key = wr.invalidate_rkey;
    }
}

proto::ib::WorkTerms terms_of(const ibv_send_wr& wr, proto::ib::Request request, ibv_qp_type type) {
    proto::ib::WorkTerms terms;
    terms.id = wr.wr_id;
    terms.request = request;
    terms.signalled = (wr.send_flags & IBV_SEND_SIGNALED) != 0;
    terms.solicited = (wr.send_flags & IBV_SEND_SOLICITED) != 0;
    terms.fence = (wr.send_flags & IBV_SEND_FENCE) != 0;
    if (proto::ib::has_immediate(request)) terms.immediate = ::ntohl(wr.imm_data);
    add_target(wr, type, terms);
    return terms;
}

/// A list of pieces. take() returns false if the list is too long.
class Pieces {
public:
    bool take(const ibv_sge* list, int count) {
        if (count < 0 || static_cast<std::size_t>(count) > pieces_max) return false;
        count_ = static_cast<std::size_t>(count);
        for (std::size_t i = 0; i < count_; ++i) {
            pieces_[i] = {list[i].addr, list[i].length, list[i].lkey};
        }
        return true;
    }
    std::span<const proto::ib::Piece> all() const { return std::span(pieces_).first(count_); }

private:
    std::array<proto::ib::Piece, pieces_max> pieces_;
    std::size_t count_ = 0;
};

int post(proto::ib::Port& port, const ibv_qp& pair, const ibv_send_wr& wr) {
    const auto request = request_of(wr.opcode);
    Pieces pieces;
    if (!request || !pieces.take(wr.sg_list, wr.num_sge)) return EINVAL;
    if (pair.qp_type == IBV_QPT_UD && wr.wr.ud.ah == nullptr) return EINVAL;
    proto::ib::WorkRequest work{.terms = terms_of(wr, *request, pair.qp_type),
                                .pieces = pieces.all()};
    if (*request == proto::ib::Request::bind_window) {
        if (wr.bind_mw.mw == nullptr) return EINVAL;
        const auto bind = bind_of(*wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
        if (!bind) return EINVAL;
        work.terms.bind = *bind;
    }
    std::array<ConstBytes, pieces_max> inlined;
    if ((wr.send_flags & IBV_SEND_INLINE) != 0) {
        if (!proto::ib::is_send(*request) && !proto::ib::is_write(*request)) return EINVAL;
        for (std::size_t i = 0; i < work.pieces.size(); ++i) {
            const proto::ib::Piece& piece = work.pieces[i];
            inlined[i] = {reinterpret_cast<const std::byte*>(piece.address), piece.length};
        }
        work.inlined = std::span(inlined).first(work.pieces.size());
        work.pieces = {};
    }
    return errno_of(port.post_send(pair.qp_num, work));
}

/// Returns an errno if a queue of this capacity can never accept the request, else 0.
int wrong_with(const ibv_send_wr& wr, const ibv_qp_cap& capacity) {
    if (wr.num_sge < 0 || static_cast<std::uint32_t>(wr.num_sge) > capacity.max_send_sge) {
        return EINVAL;
    }
    std::uint64_t length = 0;
    for (int i = 0; i < wr.num_sge; ++i) length += wr.sg_list[i].length;
    const bool inlined = (wr.send_flags & IBV_SEND_INLINE) != 0;
    return inlined && length > capacity.max_inline_data ? EINVAL : 0;
}

/// About how many packets the requests need, with the device's path MTU.
Device::Work work_of(const ibv_qp& pair, const ibv_send_wr* first, const Device& device) {
    Device::Work work{.queue_pair = pair.qp_num};
    for (const ibv_send_wr* one = first; one != nullptr; one = one->next) {
        std::uint64_t length = 0;
        const int pieces = one->num_sge > limits::pieces ? 0 : one->num_sge;  // it will be refused
        for (int i = 0; i < pieces; ++i) length += one->sg_list[i].length;
        work.packets += 1 + static_cast<std::size_t>(length / device.path_mtu());
        work.ends_keys |= one->opcode == IBV_WR_BIND_MW || one->opcode == IBV_WR_LOCAL_INV;
    }
    return work;
}

/// Posts the requests of a list one by one and stops at the first that is refused.
template <class Request, class Post>
int post_all(Request* first, Request** bad, Post&& post) {
    for (Request* one = first; one != nullptr; one = one->next) {
        const int error = verbs::errno_of([&] { return post(*one); });
        if (error != 0) {
            *bad = one;
            return error;
        }
    }
    return 0;
}

/// The answer of a dead device.
template <class Request>
int refuse(Request* requests, Request** bad) {
    *bad = requests;
    return EIO;
}

template <class Take>
int take(const ibv_recv_wr& wr, Take&& take) {
    Pieces pieces;
    if (!pieces.take(wr.sg_list, wr.num_sge)) return EINVAL;
    return errno_of(take(proto::ib::ReceiveRequest{.id = wr.wr_id, .pieces = pieces.all()}));
}

}  // namespace

int post_sends(ibv_qp* pair, ibv_send_wr* requests, ibv_send_wr** bad) {
    Context& context = Context::of(pair->context);
    if (context.is_dead()) return refuse(requests, bad);
    return called([&] {
        return context.device->posting_work(
            work_of(*pair, requests, *context.device), [&](proto::ib::Port& port) {
                return post_all(requests, bad,
                                [&](const ibv_send_wr& wr) { return post(port, *pair, wr); });
            });
    });
}

int post_together(ibv_qp& pair, const ibv_send_wr& first, std::size_t count) {
    Context& context = Context::of(pair.context);
    if (context.is_dead()) return EIO;
    const QueuePair& of = QueuePair::of(&pair);
    for (const ibv_send_wr* one = &first; one != nullptr; one = one->next) {
        if (const int error = wrong_with(*one, of.capacity); error != 0) return error;
    }
    const Device::Work work = work_of(pair, &first, *context.device);
    return context.device->posting_work(work, [&](proto::ib::Port& port) {
        const proto::ib::SendQueue& sends = port.queue_pair(pair.qp_num)->sends;
        if (count > sends.limits().sends - sends.size()) return ENOMEM;
        int error = 0;
        for (const ibv_send_wr* one = &first; one != nullptr && error == 0; one = one->next) {
            error = post(port, pair, *one);
        }
        return error;
    });
}

int post_receives(ibv_qp* pair, ibv_recv_wr* requests, ibv_recv_wr** bad) {
    Context& context = Context::of(pair->context);
    if (context.is_dead()) return refuse(requests, bad);
    return called([&] {
        return context.device->locked([&](proto::ib::Port& port) {
            return post_all(requests, bad, [&](const ibv_recv_wr& wr) {
                return take(wr, [&](const proto::ib::ReceiveRequest& request) {
                    return port.post_receive(pair->qp_num, request);
                });
            });
        });
    });
}

int post_shared_receives(ibv_srq* of, ibv_recv_wr* requests, ibv_recv_wr** bad) {
    const SharedReceives& queue = SharedReceives::of(of);
    Context& context = Context::of(queue.context);
    if (context.is_dead()) return refuse(requests, bad);
    return called([&] {
        return context.device->locked([&](proto::ib::Port& port) {
            return post_all(requests, bad, [&](const ibv_recv_wr& wr) {
                return take(wr, [&](const proto::ib::ReceiveRequest& request) {
                    return port.post_receive(queue.id, request);
                });
            });
        });
    });
}

}  // namespace wireproof::verbs
