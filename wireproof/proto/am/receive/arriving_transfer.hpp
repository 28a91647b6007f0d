// A transfer whose bytes arrive at this node.
#pragma once

#include <cstddef>
#include <cstdint>

#include "wireproof/base/bytes.hpp"
#include "wireproof/core/fingerprint.hpp"
#include "wireproof/proto/am/wire_format.hpp"

namespace wireproof::am {

/// A store into this node's memory, or a get of this node.
struct ArrivingTransfer {
    bool active = false;
    bool discarded = false;        // refused: its bytes are dropped
    bool refusal_unacked = false;  // the peer has not acknowledged the refusal
    std::uint64_t total = 0;
    std::uint64_t completed = 0;  // bytes of complete chunks
    Bytes memory;
    std::size_t opened_with = 0;  // bytes that came with the OPEN, before `memory`; not in `total`
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
    bool is_last_chunk(std::uint64_t base, const Config& config) const {
        return total - base <= config.chunk_bytes();
    }
    Bytes all() const { return {memory.data() - opened_with, memory.size() + opened_with}; }
};

}  // namespace wireproof::am
