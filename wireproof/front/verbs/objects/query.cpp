// Queries about the device and its port.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/front/verbs/device/identity.hpp"
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/attributes.hpp"
#include "wireproof/front/verbs/objects/context.hpp"
#include "wireproof/proto/ib/port/port.hpp"

namespace wireproof::verbs {
namespace {

constexpr const char* version = WIREPROOF_VERBS_VERSION;
constexpr std::uint32_t no_vendor = 0xFFFFFF;    // as Linux's Soft-RoCE says; 0 would be Xerox
constexpr std::uint8_t ethernet_like_width = 1;  // 1x, as an Ethernet port shows
constexpr std::uint8_t speed_10_gbit = 4;
constexpr std::uint8_t link_up = 5;
constexpr std::uint8_t link_disabled = 3;

ibv_device_attr device_attributes() {
    ibv_device_attr shown{};
    std::strncpy(shown.fw_ver, version, sizeof shown.fw_ver - 1);
    shown.node_guid = shown.sys_image_guid = device_guid();
    shown.vendor_id = no_vendor;
    shown.max_mr_size = limits::memory_region;
    shown.page_size_cap = ~std::uint64_t{0xFFF};
    shown.max_qp = limits::queue_pairs;
    shown.max_qp_wr = limits::work_requests;
    shown.device_cap_flags = IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_RC_RNR_NAK_GEN |
                             IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_SYS_IMAGE_GUID |
                             IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B |
                             IBV_DEVICE_MEM_MGT_EXTENSIONS;
    shown.max_sge = shown.max_sge_rd = limits::pieces;
    shown.max_cq = limits::completion_queues;
    shown.max_cqe = limits::completions;
    shown.max_mr = shown.max_mw = limits::memory_regions;
    shown.max_pd = limits::protection_domains;
    shown.max_qp_rd_atom = shown.max_qp_init_rd_atom = limits::outstanding_reads;
    shown.max_res_rd_atom = limits::outstanding_reads * limits::queue_pairs;
    // The device does Atomics under one lock. They are atomic among the accesses of this device
    // only.
    shown.atomic_cap = IBV_ATOMIC_HCA;
    shown.max_ah = limits::address_handles;
    shown.max_srq = limits::shared_receive_queues;
    shown.max_srq_wr = limits::work_requests;
    shown.max_srq_sge = limits::pieces;
    shown.max_pkeys = 1;
    shown.local_ca_ack_delay = 15;
    shown.phys_port_cnt = limits::port;
    return shown;
}

ibv_port_attr port_attributes(Device& device) {
    const bool up = device.port_is_up();
    ibv_port_attr shown{};
    shown.state = up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
    shown.max_mtu = IBV_MTU_4096;
    shown.active_mtu = mtu_of(device.path_mtu());
    shown.gid_tbl_len = limits::gids;
    shown.port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
    shown.max_msg_sz = static_cast<std::uint32_t>(limits::message);
    shown.pkey_tbl_len = 1;
    shown.max_vl_num = 1;
    shown.active_width = ethernet_like_width;
    shown.active_speed = speed_10_gbit;
    shown.phys_state = up ? link_up : link_disabled;
    shown.link_layer = IBV_LINK_LAYER_ETHERNET;
    shown.flags = IBV_QPF_GRH_REQUIRED;  // programs choose by it whether to name a GID
    if (const Address* subnet = device.subnet()) {
        shown.link_layer = IBV_LINK_LAYER_INFINIBAND;
        shown.port_cap_flags = IBV_PORT_CM_SUP;
        shown.flags = 0;
        shown.lid = shown.sm_lid = lid_of(*subnet);
    }
    return shown;
}

/// The program's structure may be shorter or longer than ours. If it is longer, the rest becomes
/// zero.
template <class Shown>
void copy(const Shown& shown, void* to, std::size_t size) {
    std::memset(to, 0, size);
    std::memcpy(to, &shown, std::min(size, sizeof shown));
}

/// Returns false if there is no such entry.
bool read_gid(const Device& device, std::uint32_t port, std::uint32_t index, proto::ib::Gid& gid) {
    if (port != limits::port || index >= limits::gids) return false;
    gid = index == 0 ? link_local_gid_of(device.address()) : gid_of(device.address());
    return true;
}

int fill_entry(const Device& device, std::uint32_t port, std::uint32_t index,
               ibv_gid_entry& entry) {
    proto::ib::Gid gid{};
    if (!read_gid(device, port, index, gid)) return EINVAL;
    entry = {};
    std::copy_n(gid.begin(), gid.size(), entry.gid.raw);
    entry.gid_index = index;
    entry.port_num = port;
    entry.gid_type = device.subnet() != nullptr ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
    entry.ndev_ifindex = interface_of(device.address());
    return 0;
}

}  // namespace

int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes,
               std::size_t size) {
    return called([&] {
        if (port != limits::port) return EINVAL;
        copy(port_attributes(*Context::of(context).device), attributes, size);
        return 0;
    });
}

int query_device(ibv_context*, const ibv_query_device_ex_input* input,
                 ibv_device_attr_ex* attributes, std::size_t size) {
    if (input != nullptr && input->comp_mask != 0) return EINVAL;
    if (size < sizeof attributes->orig_attr) return EINVAL;
    ibv_device_attr_ex shown{};
    shown.orig_attr = device_attributes();
    shown.device_cap_flags_ex = shown.orig_attr.device_cap_flags;
    shown.phys_port_cnt_ex = limits::port;
    copy(shown, attributes, size);
    return 0;
}

}  // namespace wireproof::verbs

using namespace wireproof;
using verbs::Context;

int ibv_query_device(ibv_context*, ibv_device_attr* attributes) {
    *attributes = verbs::device_attributes();
    return 0;
}

// For programs that were built before the structure had its last member.
int ibv_query_port(ibv_context* context, std::uint8_t port, _compat_ibv_port_attr* attributes) {
    return verbs::query_port(context, port, reinterpret_cast<ibv_port_attr*>(attributes),
                             offsetof(ibv_port_attr, port_cap_flags2));
}

int ibv_query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid* gid) {
    proto::ib::Gid read{};
    if (index < 0 || !verbs::read_gid(*Context::of(context).device, port,
                                      static_cast<std::uint32_t>(index), read)) {
        errno = EINVAL;
        return -1;
    }
    std::copy_n(read.begin(), read.size(), gid->raw);
    return 0;
}

int ibv_query_gid_type(ibv_context* context, std::uint8_t port, unsigned index, unsigned* type) {
    constexpr unsigned infiniband = 0;
    constexpr unsigned roce_v2 = 1;
    proto::ib::Gid read{};
    if (!verbs::read_gid(*Context::of(context).device, port, index, read)) {
        errno = EINVAL;
        return -1;
    }
    *type = Context::of(context).device->subnet() != nullptr ? infiniband : roce_v2;
    return 0;
}

int _ibv_query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index,
                      ibv_gid_entry* entry, std::uint32_t flags, std::size_t size) {
    if (flags != 0) return EOPNOTSUPP;
    if (size < sizeof(ibv_gid_entry)) return EINVAL;
    return verbs::called([&] {
        ibv_gid_entry filled{};
        const int error = verbs::fill_entry(*Context::of(context).device, port, index, filled);
        if (error == 0) verbs::copy(filled, entry, size);
        return error;
    });
}

ssize_t _ibv_query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t room,
                             std::uint32_t flags, std::size_t size) {
    if (flags != 0) return -EOPNOTSUPP;
    if (size < sizeof(ibv_gid_entry) || room < verbs::limits::gids) return -EINVAL;
    const int error = verbs::called([&] {
        auto* to = reinterpret_cast<std::byte*>(entries);
        for (std::uint32_t index = 0; index < verbs::limits::gids; ++index, to += size) {
            ibv_gid_entry filled{};
            verbs::fill_entry(*Context::of(context).device, verbs::limits::port, index, filled);
            verbs::copy(filled, to, size);
        }
        return 0;
    });
    return error == 0 ? ssize_t{verbs::limits::gids} : -error;
}

int ibv_query_pkey(ibv_context*, std::uint8_t port, int index, __be16* pkey) {
    if (port != verbs::limits::port || index != 0) {
        errno = EINVAL;
        return -1;
    }
    *pkey = 0xFFFF;  // full member of the default partition; the same in both byte orders
    return 0;
}

int ibv_get_pkey_index(ibv_context*, std::uint8_t port, __be16 pkey) {
    if (port == verbs::limits::port && (pkey & 0xFF7F) == 0xFF7F) return 0;
    errno = EINVAL;
    return -1;
}
