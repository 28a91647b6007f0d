// Writes bytes for a reader that polls the memory and gets no signal: another thread, or a process
// that shares the memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wireproof/base/bytes.hpp"

namespace wireproof {

/// A reader that sees a store after the fence also sees all stores before it. g++ does not compile
/// the fence of the standard library under the thread sanitizer.
inline void release_fence() {
#if defined(__SANITIZE_THREAD__)
    __sync_synchronize();
#else
    std::atomic_thread_fence(std::memory_order_release);
#endif
}

/// Copies `size` bytes so that a reader that sees the new last byte, or the new last aligned word
/// of 8 bytes, sees all the others. Programs poll the end of a one-sided write.
inline void copy_last_word_last(std::byte* to, const std::byte* from, std::size_t size) {
    if (size == 0) return;
    constexpr std::size_t word = 8;
    const auto end = reinterpret_cast<std::uintptr_t>(to) + size;
    const std::size_t tail =
        (end - 1) % word + 1;  // bytes of the last aligned word, at most `word`
    const std::size_t head = size > tail ? size - tail : 0;
    copy_short(to, from, head);
    release_fence();
    if (size - head == word) {
        std::memcpy(to + head, from + head, word);  // one aligned store
        return;
    }
    copy_short(to + head, from + head, size - head - 1);
    release_fence();
    to[size - 1] = from[size - 1];
}

}  // namespace wireproof
