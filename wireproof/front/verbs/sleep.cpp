#include "wireproof/front/verbs/sleep.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <system_error>

namespace wireproof::verbs {

Bell::Bell() : handle_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (handle_ < 0) throw std::system_error(errno, std::generic_category());
}

Bell::~Bell() {
    ::close(handle_);
}

// It fails only where it is readable already, or is not.
void Bell::ring() const {
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(handle_, &one, sizeof one);
}

void Bell::silence() const {
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto read = ::read(handle_, &rings, sizeof rings);
}

void sleep_until(const host::SteadyClock& clock, Instant deadline,
                 const std::array<int, 2>& handles) {
    std::array<pollfd, 2> wanted{};
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        wanted[i].fd = handles[i];
        wanted[i].events = POLLIN;
    }
    timespec left{};
    if (deadline != never) {
        constexpr std::int64_t second = 1'000'000'000;
        // Rounded up: to wake a fraction before the deadline would mean to sleep twice.
        const std::int64_t nanoseconds =
            std::max<std::int64_t>((deadline - clock.now()).nanoseconds() + 1, 0);
        left.tv_sec = nanoseconds / second;
        left.tv_nsec = nanoseconds % second;
    }
    ::ppoll(wanted.data(), wanted.size(), deadline == never ? nullptr : &left, nullptr);
}

}  // namespace wireproof::verbs
