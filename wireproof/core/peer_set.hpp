// A set of peers of one wire.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "wireproof/core/frame.hpp"

namespace wireproof {

class PeerSet {
public:
    void add(PeerId peer) {
        const auto number = static_cast<std::size_t>(peer);
        if (number >= members_.size()) members_.resize(number + 1);
        members_[number] = true;
    }
    bool empty() const { return std::ranges::find(members_, true) == members_.end(); }
    bool contains(PeerId peer) const {
        const auto number = static_cast<std::size_t>(peer);
        return number < members_.size() && members_[number];
    }

private:
    std::vector<bool> members_;  // by PeerId
};

}  // namespace wireproof
