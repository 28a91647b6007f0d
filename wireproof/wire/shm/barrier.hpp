// Orders two steps: a producer publishes and then asks "do you sleep?"; a consumer says "I sleep"
// and then asks "did you publish?". If the kernel lets the sleeper put a barrier into every
// processor that runs a node (membarrier), producers need no barrier of their own. They would pay
// for each frame, but the sleeper pays only once for each sleep.
#pragma once

#include <atomic>

namespace wireproof {

/// Lets the barriers of other processes reach this one. False: this kernel has no such barriers.
bool join_barrier();

/// A full barrier here and in every process that joined.
void barrier_everywhere();

/// The same as atomic_thread_fence, which g++ refuses to compile under the thread sanitizer.
inline void full_barrier() {
    __sync_synchronize();
}

/// The producer's half. `light`: both processes joined.
inline void order_publish_before_look(bool light) {
    if (light) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
    } else {
        full_barrier();
    }
}

}  // namespace wireproof
