#include "wireproof/front/verbs/cm/channel.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "wireproof/host/memory_guard.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::verbs {

bool copy_program(std::byte* to, const std::byte* from, std::size_t size) {
    if (size == 0) return true;
    return to != nullptr && from != nullptr && host::copy_guarded(to, from, size);
}

CmChannel::CmChannel() : shown_(::fcntl(counter_.handle(), F_DUPFD_CLOEXEC, 0)) {
    if (shown_ < 0) throw std::system_error(errno, std::generic_category());
}

void CmChannel::make_room() {
    const std::lock_guard guard(lock_);
    if (room_.empty()) room_.emplace_back();
}

void CmChannel::push(CmChannelEvent event) {
    const std::lock_guard guard(lock_);
    if (room_.empty()) room_.emplace_back();
    room_.front() = std::move(event);
    events_.splice(events_.end(), room_);
    counter_.add();
}

int CmChannel::await() const {
    return counter_.take() ? 0 : errno;
}

int CmChannel::take(void* to, std::size_t room) {
    const std::lock_guard guard(lock_);
    if (events_.empty()) return ENOENT;  // remove() took it in the meantime
    const CmChannelEvent& event = events_.front();
    const auto* const bytes = reinterpret_cast<const std::byte*>(&event.response);
    if (!copy_program(static_cast<std::byte*>(to), bytes, std::min(room, sizeof event.response))) {
        counter_.add();
        return EFAULT;
    }
    ++*event.taken;
    events_.pop_front();
    return 0;
}

std::list<CmChannelEvent> CmChannel::remove(std::uint32_t of) {
    const std::lock_guard guard(lock_);
    std::list<CmChannelEvent> removed;
    for (auto next = events_.begin(); next != events_.end();) {
        const auto one = next++;
        if (one->of != of) continue;
        removed.splice(removed.end(), events_, one);
        counter_.take_now();
    }
    return removed;
}

std::size_t CmChannel::waiting(std::uint32_t of, std::uint32_t event) {
    const std::lock_guard guard(lock_);
    const auto waits = std::ranges::count_if(events_, [&](const CmChannelEvent& one) {
        return one.of == of && one.response.event == event;
    });
    return static_cast<std::size_t>(waits);
}

void CmChannel::close() {
    const Descriptor shown(shown_.exchange(-1));
}

}  // namespace wireproof::verbs
