// The memory of this node that its peers may reach, in packets or through the wire.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "wireproof/am.hpp"
#include "wireproof/host/any_wire.hpp"
#include "wireproof/proto/am/connection.hpp"

namespace wireproof::am {

class LentMemory {
public:
    /// The caller owns `wire`.
    LentMemory(host::AnyWire& wire, std::size_t peers) : wire_(wire), tables_(peers) {}

    /// What the peer may reach in packets. Connections point at it.
    const MemoryTable& table(std::size_t peer) const { return tables_[peer]; }

    /// False: the memory overlaps what the peer may reach, or is_withdrawn().
    bool may_lend(std::size_t peer, std::uint64_t address, ConstBytes memory) const {
        return !is_withdrawn(peer, address) && tables_[peer].fits(address, memory);
    }
    /// Only if may_lend().
    void lend(std::size_t peer, std::uint64_t address, Bytes memory, Rights rights);
    /// ok: the peer has lost its access. would_block: not yet, call again. not_allowed: nothing is
    /// lent at this address.
    Status take_back(std::size_t peer, std::uint64_t address, const Connection& connection);
    /// take_back() has returned would_block, and nobody has called it again since the peer lost its
    /// access. Until then nothing can be lent at this address to the peer.
    bool is_withdrawn(std::size_t peer, std::uint64_t address) const {
        return withdrawn_.contains({peer, address});
    }
    /// Whether a peer may reach some of these bytes.
    bool reaches(ConstBytes memory) const;

private:
    host::AnyWire& wire_;
    std::vector<MemoryTable> tables_;  // by peer; sized at construction, so that they do not move
    // What peers may still reach, by peer and address.
    std::map<std::pair<std::size_t, std::uint64_t>, Bytes> withdrawn_;
};

}  // namespace wireproof::am
