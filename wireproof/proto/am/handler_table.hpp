// Which handlers a node has. A store that names another one ends with the reason no_handler.
#pragma once

#include <vector>

#include "wireproof/proto/am/delivery.hpp"

namespace wireproof::am {

/// Connections borrow it; the front owns it.
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
