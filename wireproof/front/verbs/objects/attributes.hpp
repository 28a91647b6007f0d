// Converts the attributes of a queue pair (masks and values) between verbs and the device.
#pragma once

#include <optional>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/proto/ib/transport/queue_pair_core.hpp"

namespace wireproof::verbs {

proto::ib::QueuePairState state_of(ibv_qp_state state);
ibv_qp_state shown(proto::ib::QueuePairState state);

/// Bytes of payload. The result is 0 if `mtu` is not a known value.
std::size_t bytes_of(ibv_mtu mtu);
/// `bytes` is a path MTU of InfiniBand.
ibv_mtu mtu_of(std::size_t bytes);

/// The change that a program asks for. The result is empty if a value or a bit of the mask is
/// invalid. The caller converts the address vector itself, because only the caller knows the peers.
std::optional<proto::ib::QueuePairChange> change_of(const ibv_qp_attr& attributes, int mask);

/// The attributes of a queue pair as a query shows them, without the address vector and the
/// capacities.
ibv_qp_attr shown(const proto::ib::QueuePairCore& core, const proto::ib::Psns& psns);

}  // namespace wireproof::verbs
