// A transfer whose bytes arrive here.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// A store into our memory, or a get of ours: bytes that arrive.
struct Incoming {
    bool active = false;
    bool discarded = false;        // refused: bytes are thrown away
    bool refusal_unacked = false;  // and the peer may not know yet
    std::uint64_t total = 0;
    std::uint64_t completed = 0;  // bytes of the chunks that are whole
    Bytes memory;
    std::size_t opened_with = 0;  // bytes in front of `memory` and `total`, come with the OPEN
    HandlerId handler{};
    std::uint32_t argument = 0;
    std::uint64_t tag = 0;
    bool reported = false;

    void fingerprint(Fingerprint& sink) const {
        sink.add(active);
        if (!active) return;
        sink.add(discarded);
        sink.add(refusal_unacked);
        sink.add(total);
        sink.add(completed);
        sink.add(opened_with);
        sink.add(handler);
        sink.add(argument);
        sink.add(tag);
        sink.add(reported);
    }
    Bytes all() const { return {memory.data() - opened_with, memory.size() + opened_with}; }
};

}  // namespace wireproof::am
