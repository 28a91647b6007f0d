// Notices fork(): what the kernel copies into a child - sockets, shared memory - still belongs to
// the parent, and a child that used it, or only kept it open, would disturb the parent's peers.
#pragma once

#include <functional>

namespace wireproof::host {

/// Stands beside what may not be used by a forked child. Any thread may make and destroy one, and
/// any thread may fork. A child made by vfork, or by a bare clone, is not noticed: it may only
/// exec.
class ForkWatch {
public:
    /// `in_child` runs in a forked child before fork returns there. Another thread may have been
    /// inside the watched object when the process forked, so it must not lock, and may only let go.
    explicit ForkWatch(std::function<void()> in_child);
    ForkWatch(const ForkWatch&) = delete;
    ForkWatch& operator=(const ForkWatch&) = delete;
    ~ForkWatch();

    /// This process is not the one that made the watch.
    bool forked() const { return forked_; }

private:
    struct All;

    std::function<void()> in_child_;
    bool forked_ = false;
    ForkWatch* before_ = nullptr;  // in the list of all of this process
    ForkWatch* after_ = nullptr;
};

}  // namespace wireproof::host
