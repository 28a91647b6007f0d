// Calls for functions that the device does not have. They fail as on an adapter without them.
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>

#include "wireproof/front/verbs/abi/api.hpp"
#include "wireproof/os/descriptor.hpp"

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

/// Reads the text of a file without its last end of line. Returns the length, or -1 with errno.
int read_text(const char* path, char* text, std::size_t size) {
    const wireproof::Descriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return -1;
    const ssize_t length = ::read(file.handle(), text, size);
    if (length <= 0) return -1;
    const auto end = static_cast<std::size_t>(length - (text[length - 1] == '\n' ? 1 : 0));
    if (end < size) text[end] = '\0';
    return static_cast<int>(end);
}

}  // namespace

// The device does not pin memory for hardware, so fork needs no preparation.
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

// The device has no real files. The hooks show some.
__attribute__((visibility("default"))) int ibv_read_sysfs_file(const char* folder, const char* file,
                                                               char* text, std::size_t size) {
    std::array<char, PATH_MAX> path{};
    const int length = std::snprintf(path.data(), path.size(), "%s/%s", folder, file);
    if (length >= 0 && static_cast<std::size_t>(length) < path.size()) {
        return read_text(path.data(), text, size);
    }
    errno = ENAMETOOLONG;
    return -1;
}

__attribute__((visibility("default"))) int ibv_dontfork_range(void*, std::size_t) {
    return 0;
}

__attribute__((visibility("default"))) int ibv_dofork_range(void*, std::size_t) {
    return 0;
}
}
