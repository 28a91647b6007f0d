// Copies to and from memory that the program may have taken away: it lent the memory, and nothing
// tells when it unmaps it. A fault in such a copy ends the copy, not the process.
//
// SIGSEGV and SIGBUS are heard for that. Faults of the program's own go to the handler it had, or
// has set since.
#pragma once

#include <atomic>
#include <csetjmp>
#include <cstddef>
#include <utility>

#include "wireproof/base/instant.hpp"

namespace wireproof::host {

/// Sets the handlers again if the program has set others since, and lets this thread hear them if
/// it has blocked the signals. Costs system calls, so a thread that asks again within a millisecond
/// is not served. Call it before guarded copies. Any thread.
void keep_memory_guard(Instant now);

namespace detail {

/// Where a fault of this thread leads; null: to the program. The model spares a signal handler the
/// allocation that a thread's first use of another could need.
extern thread_local sigjmp_buf* volatile way_out __attribute__((tls_model("initial-exec")));

}  // namespace detail

/// False: `use` touched memory that is not there, or may not be written, and was left then. So it
/// may own nothing that has a destructor, and what it had begun stays half done. Guards do not
/// nest.
template <class Use>
bool guarded(Use&& use) {
    sigjmp_buf back;
    if (sigsetjmp(back, 0) != 0) {
        detail::way_out = nullptr;
        return false;
    }
    detail::way_out = &back;
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::forward<Use>(use)();
    std::atomic_signal_fence(std::memory_order_seq_cst);
    detail::way_out = nullptr;
    return true;
}

/// As copy_last_word_last. False: some of the memory is not there, or `to` may not be written;
/// bytes in front of that may have been copied.
bool copy_guarded(std::byte* to, const std::byte* from, std::size_t size);

}  // namespace wireproof::host
