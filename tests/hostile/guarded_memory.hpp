// Memory with a page before and a page behind it that nobody may touch: whoever writes there does
// not live to tell.
#pragma once

#include <cstddef>

#include "wireproof/base/bytes.hpp"

namespace wireproof::cli {

class GuardedMemory {
public:
    /// At least so many bytes, up to whole pages. Throws Failure if the system has none.
    explicit GuardedMemory(std::size_t size);
    GuardedMemory(const GuardedMemory&) = delete;
    GuardedMemory& operator=(const GuardedMemory&) = delete;
    ~GuardedMemory();

    Bytes bytes() const { return bytes_; }

private:
    Bytes whole_;  // with both pages
    Bytes bytes_;
};

}  // namespace wireproof::cli
