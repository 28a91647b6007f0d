// memfd_create, seals and mmap, each in one place.
#include "wireproof/wire/shm/sealed_memory.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "wireproof/base/check.hpp"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace wireproof {
namespace {

constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

auto memory_failed(const std::string& what) {
    return unexpected(what + ": " + std::generic_category().message(errno));
}

// Kernels before 6.3 do not know MFD_NOEXEC_SEAL. Some later ones are configured to require it.
int make_memory(const char* name) {
    constexpr unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    const int handle = ::memfd_create(name, flags | MFD_NOEXEC_SEAL);
    return handle >= 0 || errno != EINVAL ? handle : ::memfd_create(name, flags);
}

/// Returns 0, or the error of the system. A limit on the size of files (RLIMIT_FSIZE) holds for
/// this memory, too. The kernel then also sends SIGXFSZ, which would end the process; it is taken
/// back.
int allocate_pages(const Descriptor& memory, std::size_t size) {
    sigset_t too_large{};
    sigset_t before{};
    sigset_t pending{};
    ::sigemptyset(&too_large);
    ::sigaddset(&too_large, SIGXFSZ);
    ::sigpending(&pending);
    ::pthread_sigmask(SIG_BLOCK, &too_large, &before);
    // fallocate instead of ftruncate: it allocates the pages.
    const bool made = ::fallocate(memory.handle(), 0, 0, static_cast<off_t>(size)) == 0;
    const int error = made ? 0 : errno;
    constexpr timespec at_once{};
    if (error == EFBIG && ::sigismember(&pending, SIGXFSZ) == 0) {
        ::sigtimedwait(&too_large, nullptr, &at_once);
    }
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return error;
}

Expected<Bytes> map(void* at, std::size_t size, int protection, int flags, int handle, off_t from) {
    void* const mapped = ::mmap(at, size, protection, flags, handle, from);
    if (mapped == MAP_FAILED) {
        return memory_failed("cannot map " + std::to_string(size) + " bytes of shared memory");
    }
    return Bytes(static_cast<std::byte*>(mapped), size);
}

}  // namespace

Mapping::~Mapping() {
    if (is_open()) WIREPROOF_CHECK(::munmap(bytes_.data(), bytes_.size()) == 0);
}

// Replaces the mapping in one step, so that there is no moment without memory. If the kernel has no
// memory, the process ends: otherwise the parent's peers would see what the child writes.
void Mapping::abandon() {
    constexpr int flags = MAP_FIXED | MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (!is_open()) return;
    WIREPROOF_CHECK(
        map(bytes_.data(), bytes_.size(), PROT_READ | PROT_WRITE, flags, -1, 0).has_value());
}

Expected<Mapping> Mapping::of(const Descriptor& memory, std::size_t size, bool writable) {
    const int protection = PROT_READ | (writable ? PROT_WRITE : 0);
    return map(nullptr, size, protection, MAP_SHARED, memory.handle(), 0).map([](Bytes bytes) {
        return Mapping(bytes);
    });
}

Expected<Mapping> Mapping::reserve(std::size_t size) {
    constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    return map(nullptr, size, PROT_NONE, flags, -1, 0).map([](Bytes bytes) {
        return Mapping(bytes);
    });
}

Expected<void> Mapping::place(const Descriptor& memory, const Part& part) {
    const Bytes to = bytes_.subspan(part.at, part.size);
    return map(to.data(), to.size(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
               memory.handle(), static_cast<off_t>(part.from))
        .map([](Bytes) {});
}

std::size_t page_bytes() {
    return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

Expected<Descriptor> make_sealed_memory(const char* name, std::size_t size) {
    const std::string what = "cannot make " + std::to_string(size) + " bytes of shared memory";
    Descriptor memory(make_memory(name));
    if (!memory.is_open()) return memory_failed(what);
    errno = allocate_pages(memory, size);
    if (errno != 0) return memory_failed(what);
    if (::fcntl(memory.handle(), F_ADD_SEALS, size_seals) != 0) return memory_failed(what);
    return memory;
}

Expected<void> check_sealed_memory(const Descriptor& memory, std::size_t size) {
    const int seals = ::fcntl(memory.handle(), F_GET_SEALS);
    if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
        return unexpected("shared memory of a peer is not sealed");
    }
    struct stat status {};
    if (::fstat(memory.handle(), &status) != 0)
        return memory_failed("cannot read the size of shared memory");
    if (status.st_size < 0 || static_cast<std::size_t>(status.st_size) < size) {
        return unexpected("shared memory of a peer is too short");
    }
    return {};
}

Expected<Descriptor> read_only(const Descriptor& memory) {
    const std::string path = "/proc/self/fd/" + std::to_string(memory.handle());
    Descriptor reopened(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!reopened.is_open()) return memory_failed("cannot reopen shared memory for reading");
    // With the usual permissions, each holder of the descriptor could reopen it for writing.
    if (::fchmod(memory.handle(), S_IRUSR) != 0)
        return memory_failed("cannot protect shared memory");
    return reopened;
}

}  // namespace wireproof
