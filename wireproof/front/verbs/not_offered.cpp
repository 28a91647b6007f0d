// Calls for what the device does not have. They fail as with an adapter that does not have it.
#include <cstdio>

#include "wireproof/front/verbs/api.hpp"

namespace {

int not_supported() {
    errno = EOPNOTSUPP;
    return EOPNOTSUPP;
}

template <class Object>
Object* none() {
    errno = EOPNOTSUPP;
    return nullptr;
}

}  // namespace

// Nothing is pinned, so a child shares no page with an adapter.
int ibv_fork_init() {
    return 0;
}

ibv_fork_status ibv_is_fork_initialized() {
    return IBV_FORK_UNNEEDED;
}

int ibv_attach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) {
    return not_supported();
}

int ibv_detach_mcast(ibv_qp*, const ibv_gid*, std::uint16_t) {
    return not_supported();
}

ibv_mr* ibv_reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, int) {
    return none<ibv_mr>();
}

ibv_context* ibv_import_device(int) {
    return none<ibv_context>();
}

ibv_pd* ibv_import_pd(ibv_context*, std::uint32_t) {
    return none<ibv_pd>();
}

void ibv_unimport_pd(ibv_pd*) {}

ibv_mr* ibv_import_mr(ibv_pd*, std::uint32_t) {
    return none<ibv_mr>();
}

void ibv_unimport_mr(ibv_mr*) {}

ibv_dm* ibv_import_dm(ibv_context*, std::uint32_t) {
    return none<ibv_dm>();
}

void ibv_unimport_dm(ibv_dm*) {}

int ibv_set_ece(ibv_qp*, ibv_ece*) {
    return not_supported();
}

int ibv_query_ece(ibv_qp*, ibv_ece* options) {
    *options = {};
    return not_supported();
}

int ibv_resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr*, std::uint8_t*, std::uint16_t*) {
    return not_supported();
}

extern "C" {
__attribute__((visibility("default"))) const char* ibv_get_sysfs_path() {
    return "/sys";
}

// The device has no files.
__attribute__((visibility("default"))) int ibv_read_sysfs_file(const char*, const char*, char*,
                                                               std::size_t) {
    errno = ENOENT;
    return -1;
}

__attribute__((visibility("default"))) int ibv_dontfork_range(void*, std::size_t) {
    return 0;
}

__attribute__((visibility("default"))) int ibv_dofork_range(void*, std::size_t) {
    return 0;
}
}
