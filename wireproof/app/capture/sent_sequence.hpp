// The PSNs of one direction of a connection as its sender uses them. A PSN shows whether the packet
// left before, even if the packet was lost later.
#pragma once

#include <optional>

#include "wireproof/app/capture/path_mtu_set.hpp"

namespace wireproof::capture {

class SentSequence {
public:
    /// Whether the sender goes back and resends. True once for each time, at the first packet.
    bool goes_back(const proto::ib::Packet& request, const PathMtuSet& path_mtus) {
        const proto::ib::Psn psn = request.bth().psn;
        const bool continues = follows_ && follows_->may_be(psn, path_mtus);
        if (may_be_new_ && !continues) next_.reset();
        may_be_new_ = false;
        const bool known = next_ && proto::ib::difference(psn, next_->first(path_mtus)) < 0;
        follows_ = PsnBehind(request);
        const proto::ib::Psn behind = follows_->last(path_mtus);
        if (!next_ || proto::ib::difference(behind, next_->last(path_mtus)) > 0) next_ = follows_;
        return known && !continues;
    }

    /// The connection may have ended: after a jump of the PSN, another connection begins.
    void doubt() { may_be_new_ = true; }

    /// The PSN after the highest that was sent; empty before the first packet.
    const std::optional<PsnBehind>& next() const { return next_; }

private:
    std::optional<PsnBehind> next_;
    std::optional<PsnBehind> follows_;  // the PSN after the last packet
    bool may_be_new_ = false;
};

}  // namespace wireproof::capture
