#include "wireproof/front/verbs/objects/memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "wireproof/front/verbs/device/limits.hpp"
#include "wireproof/front/verbs/objects/context.hpp"

namespace wireproof::verbs {
namespace {

struct Region : ibv_mr {
    proto::ib::Access access = {};
    std::uint64_t iova = 0;

    static Region& of(ibv_mr* region) { return *static_cast<Region*>(region); }
};

// Rights that need a feature of the device: on-demand paging, and Flush, which the header does not
// name yet.
constexpr unsigned flush_global = 1U << 8;
constexpr unsigned flush_persistent = 1U << 9;
constexpr unsigned not_offered = IBV_ACCESS_ON_DEMAND | flush_global | flush_persistent;

struct Pages {
    std::uintptr_t begin;
    std::size_t length;
};

Pages pages_of(const void* address, std::size_t length) {
    const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto from = reinterpret_cast<std::uintptr_t>(address);
    const std::uintptr_t begin = from & ~(page - 1);
    return {begin, static_cast<std::size_t>(((from + length + page - 1) & ~(page - 1)) - begin)};
}

/// Populates the pages of the memory, as an adapter pins them. Returns 0, or EFAULT if the memory
/// is not mapped or may not be written.
int populate(const void* address, std::size_t length, bool written) {
    const Pages pages = pages_of(address, length);
    void* const begin = reinterpret_cast<void*>(pages.begin);
    const int advice = written ? MADV_POPULATE_WRITE : MADV_POPULATE_READ;
    if (::madvise(begin, 0, advice) == 0) {
        return ::madvise(begin, pages.length, advice) == 0 ? 0 : EFAULT;
    }
    // Kernels before 5.14 can only say whether the memory is mapped.
    std::vector<unsigned char> resident(pages.length / 4096 + 1);
    return ::mincore(begin, pages.length, resident.data()) == 0 ? 0 : EFAULT;
}

/// The region in the form of the device's table.
proto::ib::MemoryTable::Region entry_of(const ibv_pd& domain, void* address, std::size_t length,
                                        std::uint64_t iova, const proto::ib::Access& access) {
    return {.domain = domain.handle,
            .address = iova,
            .memory = {static_cast<std::byte*>(address), length},
            .access = access};
}

int register_memory(ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova,
                    unsigned flags, ibv_mr*& registered) {
    Context& context = Context::of(domain->context);
    if (context.is_dead()) return EIO;
    if ((flags & not_offered) != 0) return EOPNOTSUPP;
    const auto access = access_of(flags);
    const auto from = reinterpret_cast<std::uintptr_t>(address);
    if (!access || length == 0 || length > limits::memory_region || from + length < from) {
        return EINVAL;
    }
    if (const int error = populate(address, length, access->local_write); error != 0) return error;
    auto region = std::make_unique<Region>();
    int error = 0;
    const std::uint32_t key = context.device->locked([&](proto::ib::Port& port) -> std::uint32_t {
        if (port.memory().size() >= static_cast<std::size_t>(limits::memory_regions)) {
            error = ENOMEM;
            return 0;
        }
        const auto added =
            port.memory().add_region(entry_of(*domain, address, length, iova, *access));
        if (!added) error = EINVAL;
        return added.value_or(0);
    });
    if (error != 0) return error;
    region->context = domain->context;
    region->pd = domain;
    region->addr = address;
    region->length = length;
    region->handle = region->lkey = region->rkey = key;
    region->access = *access;
    region->iova = iova;
    ++ProtectionDomain::of(domain).users;
    registered = region.release();
    return 0;
}

struct Changes {
    int flags;
    ibv_pd* domain;
    void* address;
    std::size_t length;
    int access;
};

/// Returns 0 or an errno. If it returns an errno, nothing has changed.
int change(Region& region, const Changes& changes) {
    Context& context = Context::of(region.context);
    if (context.is_dead()) return EIO;
    if (changes.flags == 0 || (changes.flags & ~IBV_REREG_MR_FLAGS_SUPPORTED) != 0) return EINVAL;
    const bool changes_access = (changes.flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
    const auto asked = static_cast<unsigned>(changes.access);
    if (changes_access && (asked & not_offered) != 0) return EOPNOTSUPP;
    const bool moves = (changes.flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
    ibv_pd* const domain =
        (changes.flags & IBV_REREG_MR_CHANGE_PD) != 0 ? changes.domain : region.pd;
    void* const address = moves ? changes.address : region.addr;
    const std::size_t length = moves ? changes.length : region.length;
    const std::uint64_t iova = moves ? reinterpret_cast<std::uintptr_t>(address) : region.iova;
    const auto access = changes_access ? access_of(asked) : std::optional(region.access);
    if (domain == nullptr || !access || length == 0 || length > limits::memory_region) {
        return EINVAL;
    }
    if (const int error = populate(address, length, access->local_write); error != 0) return error;
    const bool changed = context.device->ending(0, [&](proto::ib::Port& port) {
        return port.memory()
            .change_region(region.lkey, entry_of(*domain, address, length, iova, *access))
            .has_value();
    });
    if (!changed) return EINVAL;
    ++ProtectionDomain::of(domain).users;
    --ProtectionDomain::of(region.pd).users;
    region.pd = domain;
    region.addr = address;
    region.length = length;
    region.access = *access;
    region.iova = iova;
    return 0;
}

}  // namespace

std::optional<proto::ib::Access> access_of(unsigned flags) {
    // The device ignores these flags: they are hints.
    flags &= ~(unsigned{IBV_ACCESS_OPTIONAL_RANGE} | unsigned{IBV_ACCESS_HUGETLB});
    const proto::ib::Access access = known_access_of(flags);
    return flags == flags_of(access) ? std::optional(access) : std::nullopt;
}

proto::ib::Access known_access_of(unsigned flags) {
    return {.local_write = (flags & IBV_ACCESS_LOCAL_WRITE) != 0,
            .remote_write = (flags & IBV_ACCESS_REMOTE_WRITE) != 0,
            .remote_read = (flags & IBV_ACCESS_REMOTE_READ) != 0,
            .remote_atomic = (flags & IBV_ACCESS_REMOTE_ATOMIC) != 0,
            .window_bind = (flags & IBV_ACCESS_MW_BIND) != 0};
}

unsigned flags_of(const proto::ib::Access& access) {
    return (access.local_write ? unsigned{IBV_ACCESS_LOCAL_WRITE} : 0U) |
           (access.remote_write ? unsigned{IBV_ACCESS_REMOTE_WRITE} : 0U) |
           (access.remote_read ? unsigned{IBV_ACCESS_REMOTE_READ} : 0U) |
           (access.remote_atomic ? unsigned{IBV_ACCESS_REMOTE_ATOMIC} : 0U) |
           (access.window_bind ? unsigned{IBV_ACCESS_MW_BIND} : 0U);
}

}  // namespace wireproof::verbs

using namespace wireproof;
using verbs::Context;
using verbs::ProtectionDomain;

ibv_pd* ibv_alloc_pd(ibv_context* of) {
    return verbs::made<ibv_pd>([&](ibv_pd*& created) {
        Context& context = Context::of(of);
        if (context.is_dead()) return EIO;
        auto domain = std::make_unique<ProtectionDomain>();
        domain->context = of;
        domain->handle = context.device->next_domain();
        created = domain.release();
        return 0;
    });
}

int ibv_dealloc_pd(ibv_pd* domain) {
    if (ProtectionDomain::of(domain).users > 0) return EBUSY;
    delete &ProtectionDomain::of(domain);
    return 0;
}

ibv_mr* ibv_reg_mr_iova2(ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova,
                         unsigned access) {
    return verbs::made<ibv_mr>([&](ibv_mr*& registered) {
        return verbs::register_memory(domain, address, length, iova, access, registered);
    });
}

ibv_mr* ibv_reg_mr(ibv_pd* domain, void* address, std::size_t length, int access) {
    return ibv_reg_mr_iova2(domain, address, length, reinterpret_cast<std::uintptr_t>(address),
                            static_cast<unsigned>(access));
}

ibv_mr* ibv_reg_mr_iova(ibv_pd* domain, void* address, std::size_t length, std::uint64_t iova,
                        int access) {
    return ibv_reg_mr_iova2(domain, address, length, iova, static_cast<unsigned>(access));
}

int ibv_rereg_mr(ibv_mr* of, int flags, ibv_pd* domain, void* address, std::size_t length,
                 int access) {
    const int error = verbs::called([&] {
        return verbs::change(verbs::Region::of(of), {flags, domain, address, length, access});
    });
    return error == 0 ? 0 : IBV_REREG_MR_ERR_INPUT;
}

// Packets move only under the lock that this takes. So no packet is being copied from or to the
// memory when the region ends.
int ibv_dereg_mr(ibv_mr* of) {
    verbs::Region& region = verbs::Region::of(of);
    Context& context = Context::of(region.context);
    if (context.is_dead()) return EIO;
    return verbs::called([&] {
        const bool gone = context.device->ending(
            0, [&](proto::ib::Port& port) { return port.memory().remove_region(region.lkey); });
        if (!gone) return EBUSY;  // a window is bound to it
        --ProtectionDomain::of(region.pd).users;
        delete &region;
        return 0;
    });
}
