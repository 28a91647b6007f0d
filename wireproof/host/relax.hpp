// The pause of a loop between two looks at memory that another processor will write.
#pragma once

namespace wireproof::host {

/// Pauses for about ten to a hundred cycles. Meanwhile the other thread of the core has the core to
/// itself, and the writer keeps the cache line.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

}  // namespace wireproof::host
