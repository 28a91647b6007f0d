#include "wireproof/host/bell.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

namespace wireproof::host {

Bell::Bell() : handle_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!handle_.is_open()) throw std::system_error(errno, std::generic_category());
}

// The write fails only if the descriptor is readable already. A signal handler must leave errno
// unchanged.
void Bell::ring() const noexcept {
    const int before = errno;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(handle(), &one, sizeof one);
    errno = before;
}

// The read fails only if the descriptor is not readable.
void Bell::silence() const noexcept {
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto read = ::read(handle(), &rings, sizeof rings);
}

}  // namespace wireproof::host
