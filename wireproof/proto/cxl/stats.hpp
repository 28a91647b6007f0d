// The counters of a CXL link.
#pragma once

#include "wireproof/core/link_engine.hpp"

namespace wireproof::cxl {

/// The counters of each link, and those of CXL. A numbered frame is a retryable flit; a nak is a
/// RETRY.Req; a replay begins with a RETRY.Ack that is not empty; acks are LLCRDs.
struct Stats : LinkStats {
    std::uint64_t bad_flits = 0;
    std::uint64_t idles = 0;            // RETRY.Idle sent
    std::uint64_t frames = 0;           // RETRY.Frame sent
    std::uint64_t retry_acks = 0;       // RETRY.Ack sent
    std::uint64_t unframed = 0;         // RETRY.Req and RETRY.Ack received without enough frames
    std::uint64_t stale_acks = 0;       // RETRY.Ack of another request
    std::uint64_t protocol_errors = 0;  // RETRY.Ack without a request, impossible numbers
    std::uint64_t phy_reinits = 0;      // that this end began
    std::uint64_t trainings = 0;        // training sets sent
    std::uint64_t aborts = 0;           // of this end
    std::uint64_t aborts_heard = 0;     // of the peer

    friend bool operator==(const Stats&, const Stats&) = default;
};

}  // namespace wireproof::cxl
