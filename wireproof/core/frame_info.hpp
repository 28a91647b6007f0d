// Describes a frame for traces, fault scripts and pictures. Each protocol has one function that
// describes its own frames, so code outside the protocol never parses them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

struct FrameInfo {
    std::string_view kind = "frame";  // a literal, the protocol's word: REQ, CHUNK, ACK …
    std::uint32_t channel = 0;        // channel, queue pair or virtual channel
    std::optional<std::uint32_t> number = {};  // its own sequence number
    std::optional<std::uint32_t> ack = {};     // the number it acknowledges
    std::size_t length = 0;                    // bytes
};

/// Accepts any bytes. If it cannot read them, the kind is "frame".
using Describe = FrameInfo (*)(ConstBytes);

inline FrameInfo describe_nothing(ConstBytes bytes) {
    FrameInfo info;
    info.length = bytes.size();
    return info;
}

}  // namespace wireproof
