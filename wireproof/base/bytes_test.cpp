#include "wireproof/base/bytes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace wireproof {
namespace {

TEST(CopyShort, CopiesEveryLengthAndNothingBesideIt) {
    constexpr std::byte untouched{0xA5};
    for (std::size_t size = 0; size <= 100; ++size) {
        std::vector<std::byte> from(size);
        for (std::size_t i = 0; i < size; ++i) from[i] = static_cast<std::byte>(i + 1);
        std::vector<std::byte> to(size + 64, untouched);
        copy_short(to.data() + 32, from.data(), size);
        std::vector<std::byte> wanted(32, untouched);
        wanted.insert(wanted.end(), from.begin(), from.end());
        wanted.insert(wanted.end(), 32, untouched);
        EXPECT_EQ(to, wanted) << size;
        if (size % 4 != 0) continue;
        std::fill(to.begin(), to.end(), untouched);
        copy_words(to.data() + 32, from.data(), size);
        EXPECT_EQ(to, wanted) << size / 4 << " words";
    }
}

}  // namespace
}  // namespace wireproof
