// The answers with data to the requests of one direction of a connection: responses to Reads and
// acknowledgements of Atomics. Each has a PSN of its own, and a lost one is asked for again by the
// requester, from the first that is missing on.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>

#include "wireproof/app/capture/path_mtu_set.hpp"

namespace wireproof::capture {

class FollowedAnswers {
public:
    /// A Read or Atomic that was asked for before.
    struct AskedAgain {
        proto::ib::Psn request;  // the PSN of the first asking
        bool atomic = false;
    };
    /// Of a Read or an Atomic that goes to the responder; nothing if it is the first asking.
    std::optional<AskedAgain> on_request(const proto::ib::Packet& request,
                                         const PathMtuSet& path_mtus);

    /// PSNs of answers that did not come, the first and the last, told once.
    struct Lost {
        proto::ib::Psn from;
        proto::ib::Psn to;
        bool atomic = false;  // the first of them
    };
    struct Outcome {
        std::optional<Lost> lost = {};
        bool duplicate = false;  // it came before and was not asked for again
    };
    /// A response to a Read, or the acknowledgement of an Atomic.
    Outcome on_answer(proto::ib::Psn psn, const PathMtuSet& path_mtus);
    /// Everything up to `psn` is done: answers that should have come before this are lost.
    Outcome on_acknowledge(proto::ib::Psn psn, const PathMtuSet& path_mtus);

    void reset() { asked_.clear(); }

private:
    struct Asked {
        proto::ib::Psn psn;
        PsnBehind behind;
        proto::ib::Psn next;  // answer
        bool atomic = false;
        bool told = false;  // that `next` is lost
    };
    // More than any responder keeps at a time. Those that are answered stay, for an answer may be
    // lost behind the place of the capture, and is then asked for again.
    static constexpr std::size_t asked_max = 128;

    bool within(const Asked& asked, proto::ib::Psn psn, const PathMtuSet& path_mtus) const;
    /// What is unanswered of the first `count` and was not told yet.
    std::optional<Lost> lost_of(std::size_t count, const PathMtuSet& path_mtus);

    std::deque<Asked> asked_;
};

}  // namespace wireproof::capture
