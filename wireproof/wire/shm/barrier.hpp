// The order between "I published, do you sleep?" and "I sleep, did you publish?". Where the kernel
// lets the sleeper put a barrier into every processor that runs a node (membarrier), producers need
// none of their own: they pay for each frame, the sleeper only once per sleep.
#pragma once

#include <atomic>

namespace wireproof {

/// Lets other processes' barriers reach this one; false: this kernel has none.
bool join_barrier();

/// A full barrier here and in every process that joined.
void barrier_everywhere();

/// As atomic_thread_fence, which g++ refuses to compile under the thread sanitizer.
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
