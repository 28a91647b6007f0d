// What a responder makes of the requests of one direction of a connection, by the rules of
// proto/ib's responders as far as PSNs and opcodes decide. Where the capture was made, not every
// packet came on to the real responder: what that one answers takes this one back.
#pragma once

#include <optional>

#include "wireproof/app/capture/path_mtu_set.hpp"

namespace wireproof::capture {

class FollowedResponder {
public:
    explicit FollowedResponder(proto::ib::Transport transport) : transport_(transport) {}

    struct Outcome {
        /// Packets before it are missing, from this PSN on, as the one before it did not show.
        std::optional<proto::ib::Psn> missing_from = {};
        bool duplicate = false;
        /// A message that had begun ends here, and was not whole.
        bool abandoned = false;
    };
    /// The first that begins a message sets the PSN that is expected, unless expect() did.
    Outcome on_request(const proto::ib::Packet& request, PathMtuSet& path_mtus);

    /// A connection begins, with this PSN.
    void expect(proto::ib::Psn psn);
    /// The real responder waits for this PSN, which it missed or was not ready for: neither that
    /// packet nor what came behind it was executed.
    void on_refusal(proto::ib::Psn psn);
    /// The real responder is in error and takes nothing more.
    void on_failure() { expected_.reset(); }
    /// It may be in error: a message that is not expected begins another connection.
    void doubt() { may_be_new_ = true; }
    /// The real responder has all up to this PSN: what was not seen was lost to the capture alone.
    void on_acknowledge(proto::ib::Psn psn, const PathMtuSet& path_mtus);

    /// Behind the last request that was taken; nothing before the first.
    const std::optional<PsnBehind>& expected() const { return expected_; }

private:
    Outcome on_reliable(const proto::ib::Packet& request, PathMtuSet& path_mtus);
    Outcome on_unreliable(const proto::ib::Packet& request, const PathMtuSet& path_mtus);
    bool continues_message(const proto::ib::Opcode& opcode) const;
    void execute(const proto::ib::Packet& request);
    void drop_message(Outcome& outcome);
    void note_gap(Outcome& outcome, const PathMtuSet& path_mtus);

    proto::ib::Transport transport_;
    std::optional<PsnBehind> expected_;
    std::optional<proto::ib::Verb> open_;  // of the message that has begun and not ended
    bool open_unknown_ = false;            // after going back into the middle of a message, perhaps
    bool in_gap_ = false;
    bool dropping_ = false;  // the rest of a message of UC
    bool may_be_new_ = false;
};

}  // namespace wireproof::capture
