// The memory that one peer may store to or get from. Lengths and addresses come from the network,
// so the engine checks each: no peer reaches memory outside a registered region.
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

/// Connections borrow it. The front owns it and the memory that it names.
class MemoryTable {
public:
    /// The peer names the bytes of the region as address, address + 1 … False: the addresses would
    /// wrap, or the region overlaps another one.
    [[nodiscard]] bool add(std::uint64_t address, Bytes memory, Access access);

    /// Whether add() would return true.
    bool fits(std::uint64_t address, ConstBytes memory) const;
    /// Whether some of these bytes lie in a region.
    bool overlaps(ConstBytes memory) const;

    /// Forgets the region that begins at `address`.
    bool remove(std::uint64_t address);

    /// The region that begins at `address`.
    std::optional<Bytes> region(std::uint64_t address) const;

    /// The bytes, if one region with that right contains all of them. If `size` is 0, `address`
    /// must be an address of such a region, or the one after its last byte.
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
