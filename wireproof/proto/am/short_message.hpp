// A request or reply on the fast path: a reference to its bytes, not a copy.
#pragma once

#include <cstddef>

#include "wireproof/base/bytes.hpp"
#include "wireproof/proto/am/delivery.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// A message that arrived, in the frame.
struct ShortMessage {
    HandlerId handler{};
    bool is_request = false;
    const std::byte* data = nullptr;
    std::size_t size = 0;  // bytes

    ConstBytes arguments() const { return {data, size}; }
};

inline Delivery as_delivery(const ShortMessage& message) {
    if (message.is_request) return Request{message.handler, message.arguments()};
    return Reply{message.handler, message.arguments()};
}

/// A message that is to leave in a packet of its own.
template <Channel channel>
struct SingleMessage {
    HandlerId handler{};
    ConstBytes arguments;
};

}  // namespace wireproof::am
