// Memory with a protected page before it and a protected page after it. A process that accesses one
// of these pages is killed.
#pragma once

#include <cstddef>

#include "wireproof/base/bytes.hpp"

namespace wireproof::hostile {

class GuardedMemory {
public:
    /// Has at least `size` bytes, rounded up to whole pages. Throws Failure if the system has no
    /// memory.
    explicit GuardedMemory(std::size_t size);
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;
    ~GuardedMemory();

    Bytes bytes() const { return bytes_; }

private:
    Bytes whole_;  // with both pages
    Bytes bytes_;
};

}  // namespace wireproof::hostile
