// Answers to queries: an identifier of rdma_cm as the program sees it.
#include <infiniband/verbs.h>
#include <rdma/ib_user_verbs.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "wireproof/base/bytes.hpp"
#include "wireproof/front/verbs/cm/core.hpp"
#include "wireproof/front/verbs/device/identity.hpp"
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/proto/ib/packet/big_endian.hpp"

namespace wireproof::verbs {
namespace {

using State = CmIdentifier::State;
using proto::ib::store_be_at;

constexpr std::uint16_t partition = 0xFFFF;
constexpr std::uint8_t exactly = 2;  // the value of a path's selectors
constexpr std::uint8_t rate_10_gbit = 3;
constexpr std::uint8_t gid_index = 1;  // the GID of the address
constexpr std::uint32_t no_index = 0xFFFFFFFF;

/// A sockaddr_ib.
struct NativeAddress {
    std::uint16_t family;
    std::uint8_t partition[2];
    std::uint32_t flow;
    std::uint8_t gid[16];
    std::uint8_t service[8];
    std::uint8_t mask[8];
    std::uint64_t scope;
};
static_assert(sizeof(NativeAddress) == 48);

template <std::size_t Size>
void store(std::uint64_t value, std::uint8_t (&to)[Size]) {
    store_be_at<0, Size>(std::as_writable_bytes(std::span(to)), value);
}

std::uint16_t store_native(const proto::ib::Gid& gid, std::uint16_t space, std::uint16_t port,
                           void* to) {
    NativeAddress address{};
    address.family = 27;
    store(partition, address.partition);
    std::ranges::copy(gid, address.gid);
    store(std::uint64_t{space} << 16 | port, address.service);
    std::memcpy(to, &address, sizeof address);
    return sizeof address;
}

bool has_route(const CmIdentifier& one) {
    return one.state >= State::route_resolved && one.state != State::listening;
}

std::uint8_t lifetime(const CmIdentifier& one) {
    // A local ACK timeout is twice the lifetime of a packet.
    return static_cast<std::uint8_t>(one.ack_timeout > 0 ? one.ack_timeout - 1 : 0);
}

ib_user_path_rec path_of(const CmIdentifier& one, const proto::ib::Gid& own) {
    ib_user_path_rec path{};
    std::ranges::copy(one.peer_gid, path.dgid);
    std::ranges::copy(own, path.sgid);
    path.reversible = 1;
    path.numb_path = 1;
    path.mtu = proto::ib::path_mtu_code(one.path_mtu);
    path.pkey = partition;
    path.hop_limit = cm_hop_limit;
    path.traffic_class = one.traffic_class;
    path.mtu_selector = path.rate_selector = path.packet_life_time_selector = exactly;
    path.rate = rate_10_gbit;
    path.packet_life_time = lifetime(one);
    return path;
}

void to_init(const CmIdentifier& one, ib_uverbs_qp_attr& to) {
    to.qp_attr_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    to.port_num = limits::port;
    if (one.is_datagram()) {
        to.qp_attr_mask |= IBV_QP_QKEY;
        to.qkey = datagram_key;
        return;
    }
    to.qp_attr_mask |= IBV_QP_ACCESS_FLAGS;
    if (!one.connection) return;
    to.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
    if (one.responder_resources > 0) {
        to.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
    }
}

std::uint8_t within_device(std::uint8_t outstanding) {
    return std::min<std::uint8_t>(outstanding, limits::outstanding_reads);
}

void to_rtr(const CmIdentifier& one, ib_uverbs_qp_attr& to) {
    to.qp_attr_mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    describe_address_vector(one, to.ah_attr);
    to.path_mtu = proto::ib::path_mtu_code(one.path_mtu);
    to.dest_qp_num = one.remote_queue_pair;
    to.rq_psn = one.receive_psn.value();
    if (one.qp_type != IBV_QPT_RC) return;
    to.qp_attr_mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    to.max_dest_rd_atomic = within_device(one.responder_resources);
    to.min_rnr_timer = 0;
}

void to_rts(const CmIdentifier& one, ib_uverbs_qp_attr& to) {
    to.qp_attr_mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
    to.sq_psn = one.send_psn.value();
    if (one.qp_type != IBV_QPT_RC) return;
    to.qp_attr_mask |=
        IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
    to.timeout = one.ack_timeout;
    to.retry_cnt = one.retry_count;
    to.rnr_retry = one.rnr_retry;
    to.max_rd_atomic = within_device(one.initiator_depth);
}

}  // namespace

void describe_address_vector(const CmIdentifier& one, ib_uverbs_ah_attr& to) {
    std::ranges::copy(one.peer_gid, to.grh.dgid);
    to.grh.sgid_index = gid_index;
    to.grh.hop_limit = cm_hop_limit;
    to.grh.traffic_class = one.traffic_class;
    to.is_global = 1;
    to.port_num = limits::port;
}

void describe_addresses(const CmIdentifier& one, rdma_ucm_query_addr_resp& to) {
    to.src_size = store_socket_address(one.source, &to.src_addr);
    to.dst_size = store_socket_address(one.destination, &to.dst_addr);
    to.ibdev_index = no_index;
    if (!one.on_device) return;
    to.node_guid = device_guid();
    to.port_num = limits::port;
    to.pkey = partition;
}

void describe_gids(const CmIdentifier& one, const proto::ib::Gid& own,
                   rdma_ucm_query_addr_resp& to) {
    describe_addresses(one, to);
    to.src_size = store_native(one.on_device ? own : proto::ib::Gid(), one.space, one.source.port,
                               &to.src_addr);
    to.dst_size = store_native(one.peer_gid, one.space, one.destination.port, &to.dst_addr);
}

void describe_route(const CmIdentifier& one, const proto::ib::Gid& own,
                    rdma_ucm_query_route_resp& to) {
    store_socket_address(one.source, &to.src_addr);
    store_socket_address(one.destination, &to.dst_addr);
    to.ibdev_index = no_index;
    if (!one.on_device) return;
    to.node_guid = device_guid();
    to.port_num = limits::port;
    if (has_route(one)) {
        to.num_paths = 1;
        to.ib_route[0] = path_of(one, own);
    } else {
        std::ranges::copy(one.peer_gid, to.ib_route[0].dgid);
        std::ranges::copy(own, to.ib_route[0].sgid);
        to.ib_route[0].pkey = partition;
    }
}

// The path has the form of the wire, as in answers of subnet administration.
bool describe_path(const CmIdentifier& one, const proto::ib::Gid& own, ib_path_rec_data& to) {
    if (!has_route(one)) return false;
    const ib_user_path_rec path = path_of(one, own);
    to = {};
    to.flags = IB_PATH_GMP | IB_PATH_PRIMARY | IB_PATH_BIDIRECTIONAL;
    const auto bytes = std::as_writable_bytes(std::span(to.path_rec)).first<64>();
    std::memcpy(&bytes[8], path.dgid, sizeof path.dgid);
    std::memcpy(&bytes[24], path.sgid, sizeof path.sgid);
    store_be_at<44, 4>(bytes, path.hop_limit);  // after 24 bits of flow label
    store_be_at<48, 1>(bytes, path.traffic_class);
    store_be_at<49, 1>(bytes, 0x80U | path.numb_path);
    store_be_at<50, 2>(bytes, partition);
    store_be_at<54, 1>(bytes, std::uint64_t{exactly} << 6 | path.mtu);
    store_be_at<55, 1>(bytes, std::uint64_t{exactly} << 6 | path.rate);
    store_be_at<56, 1>(bytes, std::uint64_t{exactly} << 6 | path.packet_life_time);
    return true;
}

int describe_queue_pair(const CmIdentifier& one, std::uint32_t state, ib_uverbs_qp_attr& to) {
    if (state > IBV_QPS_ERR || !one.on_device) return EINVAL;
    to.qp_state = state;
    // A datagram queue pair has no peer.
    if (state == IBV_QPS_INIT || one.is_datagram()) {
        to_init(one, to);
        return 0;
    }
    const bool has_peer = one.connection && one.state != State::requesting && one.path_mtu != 0;
    if (!has_peer) return EINVAL;
    if (state == IBV_QPS_RTR) {
        to_rtr(one, to);
    } else if (state == IBV_QPS_RTS) {
        to_rts(one, to);
    } else {
        return EINVAL;
    }
    return 0;
}

}  // namespace wireproof::verbs
