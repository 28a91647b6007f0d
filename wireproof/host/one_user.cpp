#include "wireproof/host/one_user.hpp"

#include <cstdio>
#include <cstdlib>
#include <string>

namespace wireproof::host {

void misused(const char* what) noexcept {
    std::fprintf(stderr, "wireproof: %s\n", what);
    std::abort();
}

#ifndef NDEBUG

// Relaxed order is enough, because this only detects a race and synchronizes nothing.
void OneUser::enter() {
    const std::thread::id self = std::this_thread::get_id();
    std::thread::id inside = thread_.load(std::memory_order_relaxed);
    if (inside != self) {
        inside = std::thread::id();
        if (!thread_.compare_exchange_strong(inside, self, std::memory_order_relaxed)) {
            misused((std::string(name_) + " is used by two threads at once").c_str());
        }
    }
    ++calls_;
}

void OneUser::leave() {
    if (--calls_ == 0) thread_.store(std::thread::id(), std::memory_order_relaxed);
}

#endif

}  // namespace wireproof::host
