#include "wireproof/app/capture/followed_answers.hpp"

namespace wireproof::capture {

std::optional<FollowedAnswers::AskedAgain> FollowedAnswers::on_request(
    const proto::ib::Packet& request, const PathMtuSet& path_mtus) {
    const proto::ib::Psn psn = request.bth().psn;
    const bool beyond =
        asked_.empty() || proto::ib::difference(psn, asked_.back().behind.last(path_mtus)) >= 0;
    // Starts at the newest: an older request can have the same number only after a wrap.
    for (std::size_t i = beyond ? 0 : asked_.size(); i-- > 0;) {
        if (!within(asked_[i], psn, path_mtus)) continue;
        const AskedAgain again{asked_[i].psn, asked_[i].atomic};
        // The responder will also answer again the requests after this one, when they are sent
        // again.
        asked_[i].next = psn;
        asked_[i].told = false;
        return again;
    }
    asked_.push_back({.psn = psn,
                      .behind = PsnBehind(request),
                      .next = psn,
                      .atomic = request.opcode->verb != proto::ib::Verb::read_request});
    if (asked_.size() > asked_max) asked_.pop_front();
    return std::nullopt;
}

FollowedAnswers::Outcome FollowedAnswers::on_answer(proto::ib::Psn psn,
                                                    const PathMtuSet& path_mtus) {
    Outcome outcome;
    for (std::size_t i = asked_.size(); i-- > 0;) {
        Asked& asked = asked_[i];
        if (!within(asked, psn, path_mtus)) continue;
        outcome.duplicate = proto::ib::difference(psn, asked.next) < 0;
        if (outcome.duplicate) return outcome;
        outcome.lost = lost_of(i, path_mtus);
        if (psn != asked.next && !asked.told) {
            if (!outcome.lost) outcome.lost = Lost{asked.next, asked.next, asked.atomic};
            outcome.lost->to = proto::ib::before(psn);
            asked.told = true;
        }
        asked.next = proto::ib::wire_circle.advance(psn, 1);
        return outcome;
    }
    return outcome;
}

FollowedAnswers::Outcome FollowedAnswers::on_acknowledge(proto::ib::Psn psn,
                                                         const PathMtuSet& path_mtus) {
    const proto::ib::Psn behind = proto::ib::wire_circle.advance(psn, 1);
    std::size_t done = asked_.size();
    while (done > 0 && proto::ib::difference(behind, asked_[done - 1].behind.last(path_mtus)) < 0)
        --done;
    return {.lost = lost_of(done, path_mtus)};
}

bool FollowedAnswers::within(const Asked& asked, proto::ib::Psn psn,
                             const PathMtuSet& path_mtus) const {
    return proto::ib::difference(psn, asked.psn) >= 0 &&
           proto::ib::difference(psn, asked.behind.last(path_mtus)) < 0;
}

std::optional<FollowedAnswers::Lost> FollowedAnswers::lost_of(std::size_t count,
                                                              const PathMtuSet& path_mtus) {
    std::optional<Lost> lost;
    for (std::size_t i = 0; i < count; ++i) {
        Asked& asked = asked_[i];
        const proto::ib::Psn behind = asked.behind.first(path_mtus);
        if (asked.told || proto::ib::difference(asked.next, behind) >= 0) continue;
        if (!lost) lost = Lost{asked.next, asked.next, asked.atomic};
        lost->to = proto::ib::before(behind);
        asked.told = true;
    }
    return lost;
}

}  // namespace wireproof::capture
