// The messages of a BUNDLE that the receiver has not looked at yet.
#pragma once

#include <cstdint>

#include "wireproof/proto/am/bundle.hpp"

namespace wireproof::am {

struct Unpacking {
    BundleRange messages;
    std::uint32_t number = 0;  // of the next message
    Channel channel = Channel::request;
    std::uint8_t round = 0;
};

}  // namespace wireproof::am
