#include "wireproof/host/loop_handle.hpp"

#include <sys/epoll.h>

#include <cerrno>

namespace wireproof::host {
namespace {

bool watch(int both, int handle) {
    epoll_event event{};
    event.events = EPOLLIN;
    return handle < 0 || ::epoll_ctl(both, EPOLL_CTL_ADD, handle, &event) == 0;
}

}  // namespace

LoopHandle::LoopHandle(int frames) : both_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (both_.is_open() && watch(handle(), bell()) && watch(handle(), frames)) return;
    throw std::system_error(errno, std::generic_category());
}

void LoopHandle::abandon() {
    both_.close();
    bell_.close();
}

// If several calls come before take_wakes(), only the first one rings the bell.
void LoopHandle::wake() const noexcept {
    if (!woken_.exchange(true, std::memory_order_acq_rel)) bell_.ring();
}

// First silences the bell, then clears woken_. A wake() in between does not ring, and this call
// reports it. In the other order, the bell would be silent while woken_ is true, and no later
// wake() would ring.
bool LoopHandle::take() {
    bell_.silence();
    const bool woken = woken_.exchange(false, std::memory_order_acq_rel);
    if (woken) ++taken_;
    return woken;
}

std::string no_loop_handle(const std::system_error& error) {
    return "no descriptor for event loops: " + error.code().message();
}

}  // namespace wireproof::host
