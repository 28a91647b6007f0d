// What a loop does between two looks at memory that another processor is to write.
#pragma once

namespace wireproof::host {

/// Some ten to a hundred cycles, in which the other thread of the core has it to itself, and the
/// line looked at is left to who writes it.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
}

}  // namespace wireproof::host
