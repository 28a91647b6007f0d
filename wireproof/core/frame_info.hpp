// What a frame is, for traces, fault scripts and pictures. Each protocol has one function that says
// it of its own frames, so nothing outside a protocol ever parses one.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

struct FrameInfo {
    std::string_view kind = "frame";  // the protocol's own word: REQ, CHUNK, ACK …; a literal
    std::uint32_t channel = 0;        // channel, queue pair or virtual channel
    std::optional<std::uint32_t> number = {};  // its own sequence number
    std::optional<std::uint32_t> ack = {};     // the number it acknowledges
    std::size_t length = 0;                    // bytes
};

/// Takes bytes nobody trusts; what it cannot read it calls "frame".
using Describe = FrameInfo (*)(ConstBytes);

inline FrameInfo describe_nothing(ConstBytes bytes) {
    FrameInfo info;
    info.length = bytes.size();
    return info;
}

}  // namespace wireproof
