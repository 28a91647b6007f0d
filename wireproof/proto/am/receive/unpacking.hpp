// The messages of a BUNDLE that the receiver has not looked at yet.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

struct Unpacking {
    std::uint32_t left = 0;
    std::uint32_t number = 0;       // of the next message
    const std::byte* at = nullptr;  // next message, in the frame
    Channel channel = Channel::request;
    std::uint8_t round = 0;
};

}  // namespace wireproof::am
