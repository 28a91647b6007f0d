#include "wireproof/proto/am/memory_table.hpp"

#include <algorithm>
#include <limits>

#include "wireproof/base/overlap.hpp"

namespace wireproof::am {

bool MemoryTable::fits(std::uint64_t address, ConstBytes memory) const {
    if (memory.size() > std::numeric_limits<std::uint64_t>::max() - address) return false;
    const std::uint64_t end = address + memory.size();
    for (const Region& region : regions_) {
        const std::uint64_t region_end = region.address + region.memory.size();
        if (address == region.address || (address < region_end && region.address < end))
            return false;
    }
    return true;
}

bool MemoryTable::add(std::uint64_t address, Bytes memory, Access access) {
    if (!fits(address, memory)) return false;
    regions_.push_back({address, memory, access});
    return true;
}

bool MemoryTable::overlaps(ConstBytes memory) const {
    return std::any_of(regions_.begin(), regions_.end(),
                       [memory](const Region& region) { return overlap(region.memory, memory); });
}

bool MemoryTable::remove(std::uint64_t address) {
    return std::erase_if(regions_, [address](const Region& r) { return r.address == address; }) > 0;
}

std::optional<Bytes> MemoryTable::region(std::uint64_t address) const {
    for (const Region& region : regions_) {
        if (region.address == address) return region.memory;
    }
    return std::nullopt;
}

std::optional<Bytes> MemoryTable::writable(std::uint64_t address, std::uint64_t size) const {
    const Region* region = region_of(address, size, &Access::write);
    if (region == nullptr) return std::nullopt;
    return region->memory.subspan(static_cast<std::size_t>(address - region->address),
                                  static_cast<std::size_t>(size));
}

std::optional<ConstBytes> MemoryTable::readable(std::uint64_t address, std::uint64_t size) const {
    const Region* region = region_of(address, size, &Access::read);
    if (region == nullptr) return std::nullopt;
    return region->memory.subspan(static_cast<std::size_t>(address - region->address),
                                  static_cast<std::size_t>(size));
}

const MemoryTable::Region* MemoryTable::region_of(std::uint64_t address, std::uint64_t size,
                                                  bool Access::*right) const {
    for (const Region& region : regions_) {
        if (address < region.address || !(region.access.*right)) continue;
        const std::uint64_t offset = address - region.address;
        if (offset <= region.memory.size() && size <= region.memory.size() - offset) return &region;
    }
    return nullptr;
}

}  // namespace wireproof::am
