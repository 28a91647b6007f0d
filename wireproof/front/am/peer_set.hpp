// Some peers of a node, each at most once, in the order in which they were added. A loop over the
// set does not visit the other peers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace wireproof::am {

class PeerSet {
public:
    explicit PeerSet(std::size_t peers) : list_(peers), inside_(peers) {}

    bool empty() const { return size_ == 0; }
    std::size_t size() const { return size_; }
    bool has(std::size_t peer) const { return inside_[peer] != 0; }
    /// Peers may be added during a loop by index.
    std::size_t operator[](std::size_t i) const { return list_[i]; }

    void add(std::size_t peer) {
        if (std::exchange(inside_[peer], std::uint8_t{1}) != 0) return;
        list_[size_++] = static_cast<std::uint32_t>(peer);
    }
    /// Removes each peer for which `keep` is false. `keep` must not add peers.
    template <class Keep>
    void keep_if(Keep&& keep) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < size_; ++i) {
            const std::uint32_t peer = list_[i];
            if (keep(std::size_t{peer})) {
                list_[kept++] = peer;
            } else {
                inside_[peer] = 0;
            }
        }
        size_ = kept;
    }

private:
    std::vector<std::uint32_t> list_;
    std::vector<std::uint8_t> inside_;  // by peer
    std::size_t size_ = 0;
};

}  // namespace wireproof::am
