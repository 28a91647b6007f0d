// The memory that one peer may store to or get from. Lengths and addresses come from the network:
// nothing outside a registered region is ever touched.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/base/bytes.hpp"

namespace wireproof::am {

struct Access {
    bool read = false;   // the peer may get
    bool write = false;  // the peer may store
};

/// Lent to connections; owned, with the memory it names, by the front.
class MemoryTable {
public:
    /// The peer names the region's bytes as address, address + 1 … False: it would wrap, or
    /// overlaps a region that is there.
    [[nodiscard]] bool add(std::uint64_t address, Bytes memory, Access access);

    /// add() would be true.
    bool fits(std::uint64_t address, ConstBytes memory) const;
    /// Some of these bytes lie in a region.
    bool overlaps(ConstBytes memory) const;

    /// Forgets the region that begins at `address`.
    bool remove(std::uint64_t address);

    /// The region that begins at `address`.
    std::optional<Bytes> region(std::uint64_t address) const;

    /// The bytes, if one region with the right holds them all. No bytes need an address of
    /// such a region, or the one behind its last.
    std::optional<Bytes> writable(std::uint64_t address, std::uint64_t size) const;
    std::optional<ConstBytes> readable(std::uint64_t address, std::uint64_t size) const;

private:
    struct Region {
        std::uint64_t address;
        Bytes memory;
        Access access;
    };

    const Region* region_of(std::uint64_t address, std::uint64_t size, bool Access::*right) const;

    std::vector<Region> regions_;
};

}  // namespace wireproof::am
