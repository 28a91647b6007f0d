// Copies to and from memory that the program may have unmapped. The program lent the memory to the
// library, but does not report when it unmaps it. A fault in such a copy ends the copy, not the
// process.
//
// For this, the library has handlers for SIGSEGV and SIGBUS. Faults of the program itself go on to
// the handler that the program had, or has set since.
#pragma once

#include <atomic>
#include <csetjmp>
#include <cstddef>
#include <utility>

#include "wireproof/base/instant.hpp"

namespace wireproof::host {

/// Sets the handlers again if the program has set others since, and unblocks the two signals for
/// this thread. It costs system calls, so it does nothing if the thread called it less than a
/// millisecond ago. Call it before guarded copies. Any thread may call it.
void keep_memory_guard(Instant now);

namespace detail {

/// The place to which a fault of this thread jumps; null: the fault is the program's own. This TLS
/// model needs no allocation at a thread's first use, which a signal handler could not make.
extern thread_local sigjmp_buf* volatile way_out __attribute__((tls_model("initial-exec")));

}  // namespace detail

/// Calls `use`. False: `use` accessed memory that does not exist or must not be written, and ended
/// there. So `use` must not own anything that has a destructor, and its work may be half done.
/// Guards do not nest.
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

/// Like copy_last_word_last. False: some of the memory does not exist, or `to` must not be written.
/// Bytes before that place may have been copied.
bool copy_guarded(std::byte* to, const std::byte* from, std::size_t size);

}  // namespace wireproof::host
