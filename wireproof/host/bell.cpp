#include "wireproof/host/bell.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace wireproof::host {

Bell::Bell() : handle_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (handle_ < 0) throw std::system_error(errno, std::generic_category());
}

Bell::~Bell() {
    close();
}

void Bell::close() {
    if (handle_ >= 0) ::close(std::exchange(handle_, -1));
}

// The write fails only if the descriptor is readable already. A signal handler must leave errno
// unchanged.
void Bell::ring() const noexcept {
    const int before = errno;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(handle_, &one, sizeof one);
    errno = before;
}

// The read fails only if the descriptor is not readable.
void Bell::silence() const noexcept {
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto read = ::read(handle_, &rings, sizeof rings);
}

}  // namespace wireproof::host
