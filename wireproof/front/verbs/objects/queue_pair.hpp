#pragma once

#include <array>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/front/verbs/objects/builder.hpp"
#include "wireproof/front/verbs/objects/context.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::verbs {

/// The extended structure is first, and zeroed bytes follow it. A program that was built with a
/// later header looks there for operations that this library does not know. It must find null
/// pointers.
struct QueuePair {
    ibv_qp_ex extended{};
    std::array<std::byte, 64> later{};
    ibv_qp_cap capacity{};
    ibv_ah_attr address{};  // of the connected peer
    bool signals_all = false;
    std::uint64_t built = 0;  // operations that the builder offers for this queue pair
    Builder builder;
    std::uint32_t events_taken = 0;

    ibv_qp& shown() { return extended.qp_base; }
    static QueuePair& of(ibv_qp* queue_pair) { return *reinterpret_cast<QueuePair*>(queue_pair); }
};

/// Posts `count` requests, a list that starts at `first`. It posts all of them and returns 0, or
/// none and returns an errno.
int post_together(ibv_qp& queue_pair, const ibv_send_wr& first, std::size_t count);
ibv_qp* create_extended_queue_pair(ibv_context* context, ibv_qp_init_attr_ex* asked);

struct SharedReceives : ibv_srq {
    proto::ib::SharedReceiveQueueId id{};
    std::uint32_t events_taken = 0;

    static SharedReceives& of(ibv_srq* queue) { return *static_cast<SharedReceives*>(queue); }
};

struct AddressHandle : ibv_ah {
    PeerId peer{};

    static AddressHandle& of(ibv_ah* handle) { return *static_cast<AddressHandle*>(handle); }
};

}  // namespace wireproof::verbs
