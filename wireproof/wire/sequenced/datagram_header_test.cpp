// Tests the header as bytes on the wire, and with invalid bytes.
#include "wireproof/wire/sequenced/datagram_header.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "wireproof/base/random.hpp"

namespace wireproof {
namespace {

template <class... T>
std::vector<std::byte> bytes(T... values) {
    return {static_cast<std::byte>(values)...};
}

const DatagramHeader some = {
    .frames = 2, .link = 0x01020304, .from = 0x11121314, .to = 0x21222324, .counter = 0xFFFFFFFE};

std::vector<std::byte> encoded() {
    std::vector<std::byte> out(DatagramHeader::size(2));
    some.encode(bytes(5, 0, 0, 1), out);
    return out;
}

TEST(DatagramHeader, LiesOnTheWireAsDrawn) {
    const auto expected =
        bytes(0x51, 1, 2, 0, 0x04, 0x03, 0x02, 0x01, 0x14, 0x13, 0x12, 0x11, 0x24, 0x23, 0x22, 0x21,
              0xFE, 0xFF, 0xFF, 0xFF, 5, 0, 0, 1, 0xE6, 0x3B, 0x1D, 0xE1);
    EXPECT_EQ(encoded(), expected);
}

TEST(DatagramHeader, ReadsWhatItWrote) {
    const auto read = DatagramHeader::decode(encoded());
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->frames, some.frames);
    EXPECT_EQ(read->link, some.link);
    EXPECT_EQ(read->from, some.from);
    EXPECT_EQ(read->to, some.to);
    EXPECT_EQ(read->counter, some.counter);
}

TEST(DatagramHeader, EveryFlippedBitIsFound) {
    for (std::size_t bit = 0; bit < DatagramHeader::size(2) * 8; ++bit) {
        auto damaged = encoded();
        damaged[bit / 8] ^= std::byte{1} << (bit % 8);
        EXPECT_FALSE(DatagramHeader::decode(damaged).has_value()) << "bit " << bit;
    }
}

TEST(DatagramHeader, IsNotReadFromLessThanItsSize) {
    const auto whole = encoded();
    for (std::size_t size = 0; size < whole.size(); ++size) {
        EXPECT_FALSE(DatagramHeader::decode(ConstBytes(whole).first(size)).has_value()) << size;
    }
}

TEST(DatagramHeader, NobodySendsFromEpochZero) {
    DatagramHeader header = some;
    header.frames = 0;
    header.from = 0;
    std::vector<std::byte> out(DatagramHeader::size(0));
    header.encode({}, out);
    EXPECT_FALSE(DatagramHeader::decode(out).has_value());
}

TEST(DatagramHeader, RandomBytesAreHarmless) {
    Random random(7);
    for (int round = 0; round < 100'000; ++round) {
        std::vector<std::byte> noise(random.below(80));
        for (std::byte& byte : noise) byte = static_cast<std::byte>(random.next());
        if (noise.size() > 1 && round % 2 == 0) {
            noise[0] = DatagramHeader::magic;
            noise[1] = DatagramHeader::version;
        }
        EXPECT_FALSE(DatagramHeader::decode(noise).has_value()) << "round " << round;
    }
}

}  // namespace
}  // namespace wireproof
