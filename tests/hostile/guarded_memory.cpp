#include "tests/hostile/guarded_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "wireproof/app/common/failure.hpp"

namespace wireproof::hostile {

GuardedMemory::GuardedMemory(std::size_t size) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t inner = (size + page - 1) / page * page;
    const std::size_t outer = inner + 2 * page;
    void* const at = ::mmap(nullptr, outer, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) {
        throw app::Failure("no guarded memory: " + std::generic_category().message(errno));
    }
    whole_ = Bytes(static_cast<std::byte*>(at), outer);
    bytes_ = whole_.subspan(page, inner);
    if (::mprotect(bytes_.data(), bytes_.size(), PROT_READ | PROT_WRITE) != 0) {
        const int reason = errno;
        ::munmap(whole_.data(), whole_.size());
        throw app::Failure("no guarded memory: " + std::generic_category().message(reason));
    }
}

GuardedMemory::~GuardedMemory() {
    ::munmap(whole_.data(), whole_.size());
}

}  // namespace wireproof::hostile
