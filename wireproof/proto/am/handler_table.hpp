// Which handlers a node has, so that a store that names none of them ends with that reason.
#pragma once

#include <vector>

#include "wireproof/proto/am/delivery.hpp"

namespace wireproof::am {

/// Lent to connections; owned by the front.
class HandlerTable {
public:
    void set(HandlerId handler, bool there) {
        const auto place = static_cast<std::size_t>(handler);
        if (place >= there_.size()) there_.resize(place + 1);
        there_[place] = there;
    }
    bool has(HandlerId handler) const {
        const auto place = static_cast<std::size_t>(handler);
        return place < there_.size() && there_[place];
    }

private:
    std::vector<bool> there_;
};

}  // namespace wireproof::am
