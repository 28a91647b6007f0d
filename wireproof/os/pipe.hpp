#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <array>

#include "wireproof/os/descriptor.hpp"

namespace wireproof {

struct Pipe {
    Descriptor from;
    Descriptor to;

    /// A program that this process starts does not inherit it. Both ends are closed if there is
    /// none: then errno says why.
    static Pipe make() {
        std::array<int, 2> ends{-1, -1};
        [[maybe_unused]] const int failed = ::pipe2(ends.data(), O_CLOEXEC);
        return {Descriptor(ends[0]), Descriptor(ends[1])};
    }
    bool is_open() const { return from.is_open(); }
};

}  // namespace wireproof
