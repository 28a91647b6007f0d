// The memory that two nodes share: a ring for each direction, the positions of the consumers, and
// words of each side: whether it sleeps, its notice, whether it copies directly into or out of the
// other side's memory, and whether its own memory is closed to such copies. Each side maps both
// rings twice in a row.
//
//      page 0                                                    pages of ring 0, ring 1
//      head 0, 1 │ asleep 0, 1 │ notice 0, 1 │ copying 0, 1 │ closed 0, 1 │ filled by side 0, 1
//
// The words of page 0 are 128 bytes apart, because processors fetch lines in pairs.
#pragma once

#include "wireproof/wire/shm/ring.hpp"
#include "wireproof/wire/shm/sealed_memory.hpp"

namespace wireproof {

class Segment {
public:
    Segment() = default;

    /// `lines` per ring: a power of two, in whole pages.
    static Expected<Segment> create(std::size_t lines);
    /// Takes the memory of a peer, after a check of its size and its seal.
    static Expected<Segment> adopt(Descriptor memory, std::size_t lines);
    static bool fits(std::size_t lines);

    /// The descriptor to pass to the peer, until close_memory().
    const Descriptor& memory() const { return memory_; }
    void close_memory() { memory_.close(); }

    /// For a forked child: see Mapping::abandon().
    void abandon() {
        memory_.close();
        mapping_.abandon();
    }

    bool is_open() const { return mapping_.is_open(); }
    RingMemory ring_filled_by(std::size_t side) const;

    /// Nonzero: this side sleeps and wants a doorbell.
    std::atomic_ref<std::uint32_t> asleep(std::size_t side) const;
    /// The notice of this side: the other side can read it at any time.
    std::atomic_ref<std::uint32_t> notice(std::size_t side) const;
    /// Nonzero: this side copies into or out of the other side's memory. See MemoryGate.
    std::atomic_ref<std::uint32_t> copying(std::size_t side) const;
    /// Nonzero: the other side must not touch the memory of this side.
    std::atomic_ref<std::uint32_t> closed(std::size_t side) const;

private:
    static Expected<Segment> map(Descriptor memory, std::size_t lines);
    std::atomic_ref<std::uint32_t> word(std::size_t number) const;

    Descriptor memory_;
    Mapping mapping_;
    std::size_t lines_ = 0;
};

}  // namespace wireproof
