// A descriptor by which a thread, or a signal handler, wakes another thread.
#pragma once

#include "wireproof/os/descriptor.hpp"

namespace wireproof::host {

/// Readable from ring() until silence(). Any thread may call both. The constructor throws
/// std::system_error if the process may have no more descriptors.
class Bell {
public:
    Bell();
    Bell(const Bell&) = delete;
    Bell& operator=(const Bell&) = delete;

    /// -1: closed.
    int handle() const { return handle_.handle(); }
    void ring() const noexcept;
    void silence() const noexcept;
    /// For a forked child, which shares the descriptor with the parent.
    void close() { handle_.close(); }

private:
    Descriptor handle_;
};

}  // namespace wireproof::host
