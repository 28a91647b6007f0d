#include "wireproof/host/split_wire.hpp"

#include <sys/epoll.h>

#include <cerrno>
#include <system_error>

namespace wireproof::host {

Expected<SplitWire> SplitWire::make(AnyWire near, AnyWire far, std::vector<bool> near_peers) {
    const auto failed = [] {
        return unexpected("cannot wait for two wires: " + std::generic_category().message(errno));
    };
    Descriptor both(::epoll_create1(EPOLL_CLOEXEC));
    if (!both.is_open()) return failed();
    SplitWire wire(std::move(near), std::move(far), std::move(near_peers), std::move(both));
    for (const int handle : {wire.near_.wait_handle(), wire.far_.wait_handle()}) {
        epoll_event wanted{};
        wanted.events = EPOLLIN;
        if (handle >= 0 && ::epoll_ctl(wire.wait_handle(), EPOLL_CTL_ADD, handle, &wanted) != 0)
            return failed();
    }
    return wire;
}

SplitWire::SplitWire(SplitWire&& other) noexcept
    : near_(std::move(other.near_)),
      far_(std::move(other.far_)),
      near_peers_(std::move(other.near_peers_)),
      both_(std::move(other.both_)),
      last_(other.last_ == &other.near_ ? &near_ : &far_),
      asking_far_(other.asking_far_),
      far_gave_(other.far_gave_),
      far_look_at_(other.far_look_at_) {}

std::optional<RxFrame> SplitWire::receive(Instant now) {
    if (asking_far_) return receive_far(now);
    last_ = &near_;
    if (auto frame = near_.receive(now)) return frame;
    if (now < far_look_at_) return std::nullopt;
    asking_far_ = true;
    far_gave_ = 0;
    return receive_far(now);
}

std::optional<RxFrame> SplitWire::receive_far(Instant now) {
    if (far_gave_ < far_frames_most) {
        last_ = &far_;
        if (auto frame = far_.receive(now)) {
            ++far_gave_;
            return frame;
        }
    }
    asking_far_ = false;
    if (far_gave_ == 0) far_look_at_ = now + far_look_every;
    return std::nullopt;
}

}  // namespace wireproof::host
