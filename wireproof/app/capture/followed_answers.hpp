// The responses with data to the requests of one direction of a connection: responses to Reads and
// acknowledgements of Atomics. Each has its own PSN. If one is lost, the requester asks again,
// starting with the first missing one.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "wireproof/app/capture/path_mtu_set.hpp"

namespace wireproof::capture {

class FollowedAnswers {
public:
    /// A Read or Atomic that was already sent before.
    struct AskedAgain {
        proto::ib::Psn request;  // the PSN of the first request
        bool atomic = false;
    };
    /// Call it for a Read or an Atomic that goes to the responder. Returns nothing if it is new.
    std::optional<AskedAgain> on_request(const proto::ib::Packet& request,
                                         const PathMtuSet& path_mtus);

    /// The first and the last PSN of responses that did not arrive. Each is reported once.
    struct Lost {
        proto::ib::Psn from;
        proto::ib::Psn to;
        bool atomic = false;  // the first lost one answers an Atomic
    };
    struct Outcome {
        std::optional<Lost> lost = {};
        bool duplicate = false;  // it arrived before, and was not requested again
    };
    /// A response to a Read, or the acknowledgement of an Atomic.
    Outcome on_answer(proto::ib::Psn psn, const PathMtuSet& path_mtus);
    /// All requests up to `psn` are done. Responses that should have come before this are lost.
    Outcome on_acknowledge(proto::ib::Psn psn, const PathMtuSet& path_mtus);

    void reset() { asked_.clear(); }

private:
    struct Asked {
        proto::ib::Psn psn;
        PsnBehind behind;
        proto::ib::Psn next;  // PSN of the next expected response
        bool atomic = false;
        bool told = false;  // the loss of `next` was reported
    };
    // More than any responder keeps at a time. Answered requests stay in the list: a response may
    // be lost after the place of the capture, and the requester then asks again.
    static constexpr std::size_t asked_max = 128;

    bool within(const Asked& asked, proto::ib::Psn psn, const PathMtuSet& path_mtus) const;
    /// The missing responses of the first `count` requests that were not reported yet.
    std::optional<Lost> lost_of(std::size_t count, const PathMtuSet& path_mtus);

    std::deque<Asked> asked_;
};

}  // namespace wireproof::capture
