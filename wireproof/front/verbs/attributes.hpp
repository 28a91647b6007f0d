// The attributes of a queue pair as verbs and as the engine name them: masks and values, both ways.
#pragma once

#include <optional>

#include "wireproof/front/verbs/api.hpp"
#include "wireproof/proto/ib/queue_pair_core.hpp"

namespace wireproof::verbs {

proto::ib::QueuePairState state_of(ibv_qp_state state);
ibv_qp_state shown(proto::ib::QueuePairState state);

/// Bytes of payload; 0: none has this name.
std::size_t bytes_of(ibv_mtu mtu);
/// Of a path MTU of InfiniBand.
ibv_mtu mtu_of(std::size_t bytes);

/// What a program asks for; nothing, where a value or a part of the mask means nothing. The address
/// vector is left to the caller: only it knows peers.
std::optional<proto::ib::QueuePairChange> change_of(const ibv_qp_attr& attributes, int mask);

/// What a queue pair has been told, as a query shows it: all but its address vector and its
/// capacities.
ibv_qp_attr shown(const proto::ib::QueuePairCore& core, const proto::ib::Psns& psns);

}  // namespace wireproof::verbs
