// The memory on both ends of what one node asks of another, and an image of what it should hold.
// Transfers use slots with a gap after each, so a byte written beside its place is seen.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "wireproof/proto/am/memory_table.hpp"

namespace wireproof::lab {

class AmFlowMemory {
public:
    /// For so many transfers of up to so many bytes at once.
    AmFlowMemory(std::uint32_t slots, std::uint64_t bytes_max, std::uint64_t seed);
    // Memory tables point into it.
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
    /// Whether the slot's bytes are those of the key, and none other changed since.
    bool inbox_holds(std::uint32_t slot, std::uint64_t bytes, std::uint64_t key);
    bool is_inbox(ConstBytes memory, std::uint32_t slot) const;
    /// The store has ended: its source is the user's, who uses it at once.
    void spoil_outbox(std::uint32_t slot);

    // A get: from the target's shelf, which never changes, to the landing place.
    std::uint64_t shelf_address(std::uint64_t offset) const { return shelf_base_ + offset; }
    Bytes landing(std::uint32_t slot, std::uint64_t bytes);
    bool landing_holds(std::uint32_t slot, std::uint64_t bytes, std::uint64_t offset);

    /// An address that nobody registered.
    std::uint64_t nowhere() const { return shelf_base_ + 2 * shelf_.size(); }

    /// Whether all memory is as the transfers that ended left it.
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
