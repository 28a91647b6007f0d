#include "wireproof/front/verbs/objects/events.hpp"

#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace wireproof::verbs {

EventCounter::EventCounter() : handle_(::eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE)) {
    if (!handle_.is_open()) throw std::system_error(errno, std::generic_category());
}

void EventCounter::add() const {
    const std::uint64_t one = 1;
    // The write fails only if 2^64 events wait.
    [[maybe_unused]] const auto written = ::write(handle(), &one, sizeof one);
}

bool EventCounter::take() const {
    std::uint64_t one = 0;
    return ::read(handle(), &one, sizeof one) == sizeof one;
}

void EventCounter::take_now() const {
    std::uint64_t one = 0;
    iovec room{&one, sizeof one};
    // Kernels before 5.8 do not support this. Then the event stays counted, and take() finds the
    // queue empty once.
    [[maybe_unused]] const auto read = ::preadv2(handle(), &room, 1, -1, RWF_NOWAIT);
}

}  // namespace wireproof::verbs
