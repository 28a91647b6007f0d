#include "wireproof/front/am/lent_memory.hpp"

#include <algorithm>

#include "wireproof/base/overlap.hpp"

namespace wireproof::am {

void LentMemory::lend(std::size_t peer, std::uint64_t address, Bytes memory, Rights rights) {
    const bool added = tables_[peer].add(address, memory, Access{rights.get, rights.store});
    WIREPROOF_CHECK(added);
    wire_.share(PeerId(peer), address, memory, rights.get, rights.store);
}

Status LentMemory::take_back(std::size_t peer, std::uint64_t address,
                             const Connection& connection) {
    if (!is_withdrawn(peer, address)) {
        const auto memory = tables_[peer].region(address);
        if (!memory) return Status::not_allowed;
        if (connection.touches(*memory)) return Status::would_block;
        tables_[peer].remove(address);
        wire_.unshare(PeerId(peer), address);
        withdrawn_.insert({{peer, address}, *memory});
    }
    // If the peer reaches the memory through the wire, it must first confirm the withdrawal.
    if (!wire_.unshared(PeerId(peer), address)) return Status::would_block;
    withdrawn_.erase({peer, address});
    return Status::ok;
}

bool LentMemory::reaches(ConstBytes memory) const {
    const auto may_reach = [memory](const MemoryTable& table) { return table.overlaps(memory); };
    return std::any_of(tables_.begin(), tables_.end(), may_reach) ||
           std::any_of(withdrawn_.begin(), withdrawn_.end(), [&](const auto& withdrawn) {
               const auto& [where, region] = withdrawn;
               return overlap(region, memory) && !wire_.unshared(PeerId(where.first), where.second);
           });
}

}  // namespace wireproof::am
