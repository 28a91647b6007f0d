// Detects fork(). The kernel copies sockets and shared memory into the child, but they still belong
// to the parent. A child that used them, or only kept them open, would disturb the parent's peers.
#pragma once

#include <functional>

namespace wireproof::host {

/// Belongs to an object that a forked child must not use. Any thread may make and destroy one, and
/// any thread may fork. It does not detect a child of vfork or of a bare clone: such a child may
/// only call exec.
class ForkWatch {
public:
    /// `in_child` runs in a forked child before fork returns there. When the process forked,
    /// another thread may have been inside the watched object. So `in_child` must not lock, and may
    /// only release what the object holds.
    explicit ForkWatch(std::function<void()> in_child);
    ForkWatch(const ForkWatch&) = delete;
    ForkWatch& operator=(const ForkWatch&) = delete;
    ~ForkWatch();

    /// True in a forked child: another process made this watch.
    bool forked() const { return forked_; }

private:
    struct All;

    std::function<void()> in_child_;
    bool forked_ = false;
    ForkWatch* before_ = nullptr;  // in the list of all watches of this process
    ForkWatch* after_ = nullptr;
};

}  // namespace wireproof::host
