// Models how a responder handles the requests of one direction of a connection. It follows the
// rules of proto/ib's responders, as far as PSNs and opcodes decide. A captured packet may not have
// reached the real responder, so a response from that responder corrects the model.
#pragma once

#include <optional>

#include "wireproof/app/capture/path_mtu_set.hpp"

namespace wireproof::capture {

class FollowedResponder {
public:
    explicit FollowedResponder(proto::ib::Transport transport) : transport_(transport) {}

    struct Outcome {
        /// Packets before it are missing, starting with this PSN; not set if already reported.
        std::optional<proto::ib::Psn> missing_from = {};
        bool duplicate = false;
        /// A message that had begun ends here without being complete.
        bool abandoned = false;
    };
    /// The first request that begins a message sets the expected PSN, unless expect() has set it.
    Outcome on_request(const proto::ib::Packet& request, PathMtuSet& path_mtus);

    /// A connection begins with this PSN.
    void expect(proto::ib::Psn psn);
    /// The real responder waits for this PSN: it missed that packet or was not ready for it. It
    /// executed neither that packet nor the packets after it.
    void on_refusal(proto::ib::Psn psn);
    /// The real responder is in the error state and accepts nothing more.
    void on_failure() { expected_.reset(); }
    /// The real responder may be in the error state: an unexpected message begins another
    /// connection.
    void doubt() { may_be_new_ = true; }
    /// The real responder has all packets up to this PSN. Packets that were not seen are missing
    /// only in the capture.
    void on_acknowledge(proto::ib::Psn psn, const PathMtuSet& path_mtus);

    /// The PSN after the last accepted request; empty before the first request.
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
    std::optional<proto::ib::Verb> open_;  // verb of the message that has begun and not ended
    bool open_unknown_ = false;            // after going back, perhaps into the middle of a message
    bool in_gap_ = false;
    bool dropping_ = false;  // the rest of a UC message
    bool may_be_new_ = false;
};

}  // namespace wireproof::capture
