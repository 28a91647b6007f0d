#include "wireproof/app/capture/followed_responder.hpp"

namespace wireproof::capture {
namespace {

/// The same limit as in QueuePairCore::Config: a packet that is behind by no more was delayed or
/// copied by the network.
constexpr std::uint32_t unreliable_behind_max = 65'536;

}  // namespace

FollowedResponder::Outcome FollowedResponder::on_request(const proto::ib::Packet& request,
                                                         PathMtuSet& path_mtus) {
    const proto::ib::Psn psn = request.bth().psn;
    if (may_be_new_ && expected_ && !expected_->may_be(psn, path_mtus)) expected_.reset();
    may_be_new_ = false;
    if (!expected_) {
        if (!request.opcode->begins()) return {};
        expect(psn);
    }
    return transport_ == proto::ib::Transport::rc ? on_reliable(request, path_mtus)
                                                  : on_unreliable(request, path_mtus);
}

void FollowedResponder::expect(proto::ib::Psn psn) {
    expected_ = PsnBehind(psn);
    open_.reset();
    open_unknown_ = in_gap_ = dropping_ = false;
}

FollowedResponder::Outcome FollowedResponder::on_reliable(const proto::ib::Packet& request,
                                                          PathMtuSet& path_mtus) {
    Outcome outcome;
    const proto::ib::Psn psn = request.bth().psn;
    if (!expected_->may_be(psn, path_mtus)) {
        // A PSN within those of a Read can only request the rest of that Read.
        const bool behind = proto::ib::difference(psn, expected_->first(path_mtus)) < 0;
        const bool within = request.opcode->verb == proto::ib::Verb::read_request &&
                            proto::ib::difference(psn, expected_->last(path_mtus)) < 0;
        outcome.duplicate = behind || within;
        if (!outcome.duplicate) note_gap(outcome, path_mtus);
        return outcome;
    }
    expected_->teach(psn, path_mtus);
    if (continues_message(*request.opcode)) {
        execute(request);
    } else {
        on_failure();  // no correct peer sends this: the next message sets the PSN again
    }
    return outcome;
}

FollowedResponder::Outcome FollowedResponder::on_unreliable(const proto::ib::Packet& request,
                                                            const PathMtuSet& path_mtus) {
    Outcome outcome;
    const proto::ib::Psn psn = request.bth().psn;
    const proto::ib::Psn expected = expected_->first(path_mtus);
    const std::uint32_t behind = proto::ib::wire_circle.steps_after(expected, psn);
    if (behind > 0 && behind <= unreliable_behind_max) {
        outcome.duplicate = true;
        return outcome;
    }
    if (psn != expected) note_gap(outcome, path_mtus);
    if (request.opcode->begins()) {
        outcome.abandoned = open_.has_value();
        dropping_ = false;
        execute(request);
    } else if (psn != expected || (!dropping_ && !continues_message(*request.opcode))) {
        drop_message(outcome);
    } else if (!dropping_) {
        execute(request);
    }
    return outcome;
}

bool FollowedResponder::continues_message(const proto::ib::Opcode& opcode) const {
    if (open_unknown_) return true;
    return open_ ? !opcode.begins() && opcode.verb == *open_ : opcode.begins();
}

void FollowedResponder::execute(const proto::ib::Packet& request) {
    expected_ = PsnBehind(request);
    open_.reset();
    if (!request.opcode->ends()) open_ = request.opcode->verb;
    open_unknown_ = in_gap_ = false;
}

void FollowedResponder::drop_message(Outcome& outcome) {
    outcome.abandoned = open_.has_value();
    open_.reset();
    dropping_ = true;
}

void FollowedResponder::note_gap(Outcome& outcome, const PathMtuSet& path_mtus) {
    if (!in_gap_) outcome.missing_from = expected_->first(path_mtus);
    in_gap_ = true;
}

// The responder drops the packets in flight after the refused one for the same reason. They are not
// a gap of their own.
void FollowedResponder::on_refusal(proto::ib::Psn psn) {
    expect(psn);
    open_unknown_ = in_gap_ = true;
}

void FollowedResponder::on_acknowledge(proto::ib::Psn psn, const PathMtuSet& path_mtus) {
    if (expected_ && proto::ib::difference(psn, expected_->last(path_mtus)) >= 0) on_failure();
}

}  // namespace wireproof::capture
