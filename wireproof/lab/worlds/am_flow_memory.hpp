// The memory at both ends of one node's operations on another, and an image of the content that it
// should have. Transfers use slots with a gap after each, so the check finds a byte that was
// written outside its place.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/proto/am/memory_table.hpp"

namespace wireproof::lab {

class AmFlowMemory {
public:
    /// For at most `slots` transfers at the same time, of at most `bytes_max` bytes each.
    AmFlowMemory(std::uint32_t slots, std::uint64_t bytes_max, std::uint64_t seed);
    // Memory tables hold pointers to it.
    AmFlowMemory(const AmFlowMemory&) = delete;
    AmFlowMemory& operator=(const AmFlowMemory&) = delete;
    ~AmFlowMemory() = default;

    void register_at(am::MemoryTable& target);

    std::optional<std::uint32_t> claim();
    void release(std::uint32_t slot) { taken_[slot] = false; }

    // A store: from the outbox to the target's inbox.
    void fill_outbox(std::uint32_t slot, std::uint64_t bytes, std::uint64_t key);
    ConstBytes outbox(std::uint32_t slot, std::uint64_t bytes) const;
    std::uint64_t inbox_address(std::uint32_t slot) const { return inbox_base_ + begin(slot); }
    /// Whether the slot has the bytes of the key, and no other byte has changed.
    bool inbox_holds(std::uint32_t slot, std::uint64_t bytes, std::uint64_t key);
    bool is_inbox(ConstBytes memory, std::uint32_t slot) const;
    /// The store has ended and the source belongs to the user again, who changes it at once.
    void spoil_outbox(std::uint32_t slot);

    // A get: from the target's shelf, which never changes, to the landing place.
    std::uint64_t shelf_address(std::uint64_t offset) const { return shelf_base_ + offset; }
    Bytes landing(std::uint32_t slot, std::uint64_t bytes);
    bool landing_holds(std::uint32_t slot, std::uint64_t bytes, std::uint64_t offset);

    /// An address that no node registered.
    std::uint64_t nowhere() const { return shelf_base_ + 2 * shelf_.size(); }

    /// Whether all memory has the content that the ended transfers should leave.
    bool as_expected() const;

private:
    static constexpr std::size_t gap = 64;
    std::size_t begin(std::uint32_t slot) const { return slot * stride_; }

    std::size_t stride_;
    std::uint64_t inbox_base_;
    std::uint64_t shelf_base_;
    std::uint64_t shelf_key_;
    std::vector<bool> taken_;
    std::vector<std::byte> outbox_;
    std::vector<std::byte> inbox_;
    std::vector<std::byte> inbox_image_;
    std::vector<std::byte> shelf_;
    std::vector<std::byte> landing_;
    std::vector<std::byte> landing_image_;
};

}  // namespace wireproof::lab
