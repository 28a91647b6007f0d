// That stores become visible to another thread in the order that base/publish.hpp promises.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "wireproof/base/publish.hpp"

namespace wireproof {
namespace {

/// Looks until `there` says so; lets others run when that takes long.
template <class There>
void spin_until(There&& there) {
    for (unsigned looks = 1; !there(); ++looks) {
        if (looks % 1000 == 0) std::this_thread::yield();
    }
}

// A reader that polls the last byte of 4 KiB, as the target of one-sided writes does.
TEST(Publish, AReaderThatSeesTheLastByteSeesTheRest) {
    constexpr std::size_t size = 4096;
    constexpr unsigned rounds = 20'000;
    std::vector<std::byte> shared(size);
    std::atomic<unsigned> seen = 0;
    std::atomic<unsigned> torn = 0;
    std::thread reader([&] {
        for (unsigned round = 1; round <= rounds; ++round) {
            const auto value = static_cast<std::byte>(round);
            const volatile std::byte* const bytes = shared.data();
            spin_until([&] { return bytes[size - 1] == value; });
            std::atomic_thread_fence(std::memory_order_acquire);
            for (std::size_t i = size; i-- > 0;) {
                if (bytes[i] != value) {
                    ++torn;
                    break;
                }
            }
            seen = round;
        }
    });
    std::vector<std::byte> from(size);
    for (unsigned round = 1; round <= rounds; ++round) {
        std::ranges::fill(from, static_cast<std::byte>(round));
        copy_last_word_last(shared.data(), from.data(), size);
        spin_until([&] { return seen == round; });
    }
    reader.join();
    EXPECT_EQ(torn, 0U);
}

}  // namespace
}  // namespace wireproof
