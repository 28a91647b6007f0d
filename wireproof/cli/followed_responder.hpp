// What a responder makes of the requests of one direction of a connection: a port of our own takes
// them, with memory for every address and a receive request for every message, so that only PSNs
// and opcodes decide. Where the capture was made, not every packet came on to the real responder:
// what that one answers takes this one back.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <vector>

#include "wireproof/proto/ib/port.hpp"

namespace wireproof::cli {

class FollowedResponder {
public:
    FollowedResponder(ib::Transport transport, std::size_t path_mtu)
        : transport_(transport), path_mtu_(path_mtu) {}

    struct Outcome {
        /// Packets before it are missing, as the one before it did not show.
        std::optional<ib::Psn> missing_from = {};
        bool duplicate = false;
        /// A message that had begun ends here, and was not whole.
        bool abandoned = false;
    };
    /// The first that begins a message sets the PSN that is expected.
    Outcome on_request(const ib::Packet& request);

    /// The real responder waits for this PSN, which it missed or was not ready for: neither that
    /// packet nor what came behind it was executed.
    void on_refusal(ib::Psn psn);
    /// The real responder is in error and takes nothing more.
    void on_failure() { port_.reset(); }
    /// The real responder has all up to this PSN: what was not seen was lost to the capture alone.
    void on_acknowledge(ib::Psn psn);

    /// Behind the last request that was taken; nothing before the first.
    std::optional<ib::Psn> expected() const { return expected_; }

private:
    /// Before a request was taken.
    struct Moment {
        ib::Psn psn;
        ib::Port port;
    };
    static constexpr std::size_t moments_max = 256;

    bool start(ib::Psn psn);
    void post_receives();
    void take_answers();
    ConstBytes rewritten(const ib::Packet& request);

    ib::Transport transport_;
    std::size_t path_mtu_;
    std::optional<ib::Port> port_;
    std::optional<ib::Psn> expected_;
    bool in_gap_ = false;
    std::uint32_t memory_key_ = 0;
    ib::CompletionQueueId completions_{};
    std::deque<Moment> moments_;
    std::vector<std::byte> room_;
};

}  // namespace wireproof::cli
