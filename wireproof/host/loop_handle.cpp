#include "wireproof/host/loop_handle.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>
#include <utility>

namespace wireproof::host {
namespace {

bool watch(int both, int handle) {
    epoll_event event{};
    event.events = EPOLLIN;
    return handle < 0 || ::epoll_ctl(both, EPOLL_CTL_ADD, handle, &event) == 0;
}

void close(int& handle) {
    if (handle >= 0) ::close(std::exchange(handle, -1));
}

}  // namespace

LoopHandle::LoopHandle() : bell_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (bell_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

LoopHandle::~LoopHandle() {
    abandon();
}

void LoopHandle::abandon() {
    close(both_);
    close(bell_);
}

int LoopHandle::handle(int frames) {
    if (both_ >= 0 || bell_ < 0) return both_;
    both_ = ::epoll_create1(EPOLL_CLOEXEC);
    if (both_ >= 0 && !(watch(both_, bell_) && watch(both_, frames))) close(both_);
    return both_;
}

// The first of several calls writes: the others find it done.
void LoopHandle::wake() const noexcept {
    if (woken_.exchange(true, std::memory_order_acq_rel)) return;
    const int before = errno;
    const std::uint64_t one = 1;
    [[maybe_unused]] const auto written = ::write(bell_, &one, sizeof one);
    errno = before;
}

// Read first: a wake() in between then writes nothing, and this call answers for it. The other way
// round the bell would be silent and no later wake() would write.
bool LoopHandle::silence() {
    std::uint64_t rings = 0;
    [[maybe_unused]] const auto read = ::read(bell_, &rings, sizeof rings);
    return woken_.exchange(false, std::memory_order_acq_rel);
}

}  // namespace wireproof::host
