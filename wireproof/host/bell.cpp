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

// It fails only where it is readable already. A signal handler leaves errno as it was.
void Bell::ring() const noexcept {
    const int before = errno;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(handle_, &one, sizeof one);
    errno = before;
}

// It fails only where it is not readable.
void Bell::silence() const noexcept {
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto read = ::read(handle_, &rings, sizeof rings);
}

}  // namespace wireproof::host
