#include "wireproof/app/launch/outlet.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace wireproof::launch {

// A pipe that is ready takes PIPE_BUF bytes without blocking, but perhaps no more.
void Outlet::write() {
    std::size_t written = 0;
    while (written < waiting_.size() && !broken_) {
        pollfd room{.fd = handle_, .events = POLLOUT, .revents = 0};
        if (::poll(&room, 1, 0) <= 0) break;
        const std::size_t piece = std::min<std::size_t>(waiting_.size() - written, PIPE_BUF);
        const ssize_t now = ::write(handle_, waiting_.data() + written, piece);
        if (now >= 0) written += static_cast<std::size_t>(now);
        if (now < 0 && (errno == EAGAIN || errno == EINTR)) break;
        if (now < 0) broken_ = true;
    }
    waiting_.erase(0, broken_ ? waiting_.npos : written);
}

}  // namespace wireproof::launch
