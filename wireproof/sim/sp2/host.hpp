// A node's processor, as a clock that only work and waiting move. The adapter charges the time of
// its own calls. Code that runs a protocol charges the time of the protocol.
#pragma once

#include <algorithm>

#include "wireproof/base/instant.hpp"

namespace wireproof::sp2 {

class Host {
public:
    Instant now() const { return now_; }
    void spend(Duration time) { now_ = now_ + time; }

    /// Polls until `then`, or not if that is past. The model lets a poll that finds something begin
    /// when there is something to find, so waiting does not round times up to whole polls.
    void wait_until(Instant then) { now_ = std::max(now_, then); }

private:
    Instant now_;
};

}  // namespace wireproof::sp2
