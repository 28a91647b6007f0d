// Direct copies between two processes, and the end of them. A process that gives up its memory must
// know that no copy of the peer is under way there and that none begins. Each side writes a word of
// the segment: "I copy", or "my memory is closed". Then it reads the word of the other side. Both
// sides put a full barrier between the two steps, so at least one of them sees the other's word.
#pragma once

#include "wireproof/wire/shm/barrier.hpp"
#include "wireproof/wire/shm/segment.hpp"

namespace wireproof {

/// The gate to the memory of the peer, for the node on `side` of the segment, which it borrows.
class MemoryGate {
public:
    MemoryGate() = default;  // always open
    MemoryGate(const Segment& segment, std::size_t side) : segment_(&segment), side_(side) {}

    /// The peer waits while this object exists, before it gives up its memory.
    class Passage {
    public:
        explicit Passage(const MemoryGate& gate) : gate_(gate) {
            if (gate.segment_ == nullptr) return;
            gate.segment_->copying(gate.side_).store(1, std::memory_order_relaxed);
            full_barrier();
        }
        Passage(const Passage&) = delete;
        Passage& operator=(const Passage&) = delete;
        ~Passage() {
            if (gate_.segment_ == nullptr) return;
            gate_.segment_->copying(gate_.side_).store(0, std::memory_order_release);
        }

        /// False: the peer has closed its memory, and this process must not touch it.
        bool is_open() const {
            return gate_.segment_ == nullptr ||
                   gate_.segment_->closed(1 - gate_.side_).load(std::memory_order_acquire) == 0;
        }

    private:
        const MemoryGate& gate_;
    };

private:
    const Segment* segment_ = nullptr;
    std::size_t side_ = 0;
};

/// For a process that ends, and so cannot look again later. Waits until the peer has set its word
/// back, so that no copy is under way. `peer_ended` waits for a millisecond, and returns true
/// earlier if the peer has ended: a peer that died in the middle of a copy leaves its word set. A
/// peer that was stopped in the middle of one is waited for no longer than this many milliseconds.
inline constexpr int copy_waits_max = 1000;
template <class Word, class PeerEnded>
void wait_for_copy(const Word& copying, PeerEnded&& peer_ended) {
    for (int i = 0; i < copy_waits_max && copying.load(std::memory_order_acquire) != 0; ++i) {
        if (peer_ended()) return;
    }
}

}  // namespace wireproof
