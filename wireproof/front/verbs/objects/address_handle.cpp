// Address handles: the destinations of datagrams.
#include <algorithm>

#include "wireproof/front/verbs/device/addressing.hpp"
#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/memory.hpp"
#include "wireproof/front/verbs/objects/queue_pair.hpp"

namespace wireproof::verbs {
namespace {

int create_address_handle(ibv_pd* domain, const ibv_ah_attr& attributes, ibv_ah*& created) {
    Context& context = Context::of(domain->context);
    if (context.is_dead()) return EIO;
    const auto address = address_of(attributes, context.device->subnet());
    if (!address) return EINVAL;
    auto handle = std::make_unique<AddressHandle>();
    const auto peer = context.device->hold(*address);
    if (!peer) return EINVAL;
    handle->context = domain->context;
    handle->pd = domain;
    handle->handle = static_cast<std::uint32_t>(*peer);
    handle->peer = *peer;
    ++ProtectionDomain::of(domain).users;
    created = handle.release();
    return 0;
}

/// Reads the sender of a datagram from the 40 bytes before it: an IPv6 header, or an IPv4 header in
/// the last 20 bytes.
void read_network_header(const ibv_grh& header, proto::ib::Gid& from) {
    const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&header);
    constexpr std::size_t ipv6_source = 8;
    constexpr std::size_t ipv4_source = 20 + 12;
    if (bytes[0] >> 4 == 6) {
        std::copy_n(bytes + ipv6_source, from.size(), from.begin());
        return;
    }
    from = {};
    from[10] = from[11] = 0xFF;
    std::copy_n(bytes + ipv4_source, 4, from.begin() + 12);
}

int fill(std::uint8_t port, const ibv_wc& completion, const ibv_grh& header,
         ibv_ah_attr& attributes) {
    if (port != limits::port || (completion.wc_flags & IBV_WC_GRH) == 0) return EINVAL;
    proto::ib::Gid from{};
    read_network_header(header, from);
    attributes = {};
    std::copy_n(from.begin(), from.size(), attributes.grh.dgid.raw);
    attributes.grh.sgid_index = 1;
    attributes.grh.hop_limit = 64;
    attributes.is_global = 1;
    attributes.port_num = port;
    return 0;
}

}  // namespace
}  // namespace wireproof::verbs

using namespace wireproof;

ibv_ah* ibv_create_ah(ibv_pd* domain, ibv_ah_attr* attributes) {
    return verbs::made<ibv_ah>([&](ibv_ah*& created) {
        return verbs::create_address_handle(domain, *attributes, created);
    });
}

int ibv_init_ah_from_wc(ibv_context*, std::uint8_t port, ibv_wc* completion, ibv_grh* header,
                        ibv_ah_attr* attributes) {
    const int error = verbs::fill(port, *completion, *header, *attributes);
    if (error == 0) return 0;
    errno = error;
    return -1;
}

ibv_ah* ibv_create_ah_from_wc(ibv_pd* domain, ibv_wc* completion, ibv_grh* header,
                              std::uint8_t port) {
    return verbs::made<ibv_ah>([&](ibv_ah*& created) {
        ibv_ah_attr attributes{};
        const int error = verbs::fill(port, *completion, *header, attributes);
        return error == 0 ? verbs::create_address_handle(domain, attributes, created) : error;
    });
}

int ibv_destroy_ah(ibv_ah* handle) {
    return verbs::called([handle] {
        verbs::AddressHandle& own = verbs::AddressHandle::of(handle);
        const verbs::Context& context = verbs::Context::of(handle->context);
        if (!context.is_dead()) context.device->release(own.peer);
        --verbs::ProtectionDomain::of(handle->pd).users;
        delete &own;
        return 0;
    });
}
