// A node's processor as a clock that only work and waiting move. The adapter charges its own calls;
// who runs a protocol charges what the protocol costs.
#pragma once

#include <algorithm>

#include "wireproof/base/instant.hpp"

namespace wireproof::sp2 {

class Host {
public:
    Instant now() const { return now_; }
    void spend(Duration time) { now_ = now_ + time; }

    /// Polls until `then`; nothing if that is past. A poll that finds something counts as begun
    /// when there was something to find, so waiting does not round times up to whole polls.
    void wait_until(Instant then) { now_ = std::max(now_, then); }

private:
    Instant now_;
};

}  // namespace wireproof::sp2
