#include "wireproof/base/publish.hpp"

#include <gtest/gtest.h>

#include <array>

namespace wireproof {
namespace {

TEST(Publish, CopiesEveryByteAndNoOther) {
    constexpr std::size_t most = 70;
    for (std::size_t size = 0; size <= most; ++size) {
        for (std::size_t at = 0; at < 8; ++at) {
            alignas(8) std::array<std::byte, most + 16> to{};
            std::array<std::byte, most> from{};
            for (std::size_t i = 0; i < size; ++i) from[i] = static_cast<std::byte>(i + 1);
            copy_last_word_last(to.data() + at, from.data(), size);
            for (std::size_t i = 0; i < to.size(); ++i) {
                const bool inside = i >= at && i < at + size;
                EXPECT_EQ(to[i], inside ? from[i - at] : std::byte{}) << size << " at " << at;
            }
        }
    }
}

}  // namespace
}  // namespace wireproof
