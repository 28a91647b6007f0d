// Uses ppoll, because its timeout is in nanoseconds. A millisecond, the unit of poll, is longer
// than most deadlines.
#include "wireproof/host/wait.hpp"

#include <poll.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <ctime>

#include "wireproof/base/check.hpp"

namespace wireproof::host {
namespace {

// Rounds up: a caller that woke just before the deadline would have to sleep twice.
timespec timespec_of(Duration left) {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t nanoseconds =
        left.picoseconds() <= 0 ? 0 : (left - Duration(1)).nanoseconds() + 1;
    timespec result{};
    result.tv_sec = nanoseconds / second;
    result.tv_nsec = nanoseconds % second;
    return result;
}

}  // namespace

Duration duration_of(std::chrono::milliseconds limit) {
    constexpr std::chrono::milliseconds longest = std::chrono::hours(24 * 30);
    return Duration::milliseconds(std::clamp(limit, std::chrono::milliseconds(0), longest).count());
}

std::chrono::nanoseconds timeout_until(Instant deadline, const SteadyClock& clock) {
    if (deadline == never) return std::chrono::nanoseconds::max();
    const timespec left = timespec_of(deadline - clock.now());
    return std::chrono::seconds(left.tv_sec) + std::chrono::nanoseconds(left.tv_nsec);
}

bool wait_until(std::span<const int> handles, const SteadyClock& clock, Instant deadline) {
    std::array<pollfd, 4> wanted{};
    WIREPROOF_CHECK(handles.size() <= wanted.size());
    for (std::size_t i = 0; i < handles.size(); ++i) {
        // ppoll ignores a negative descriptor
        wanted[i] = {.fd = handles[i], .events = POLLIN, .revents = 0};
    }
    timespec left{};
    if (deadline != never) left = timespec_of(deadline - clock.now());
    return ::ppoll(wanted.data(), handles.size(), deadline == never ? nullptr : &left, nullptr) > 0;
}

bool wait_until(int handle, const SteadyClock& clock, Instant deadline, int bell) {
    return wait_until(std::array{handle, bell}, clock, deadline);
}

bool wait_until(AnyWire& wire, const SteadyClock& clock, Instant deadline, int bell) {
    if (!wire.prepare_to_sleep()) return true;
    return wait_until(wire.wait_handle(), clock, std::min(deadline, wire.next_deadline()), bell);
}

void yield_processor() {
    ::sched_yield();
}

}  // namespace wireproof::host
