#include "wireproof/app/task_pool/parcel.hpp"

#include <gtest/gtest.h>

namespace wireproof::task_pool {
namespace {

ConstBytes bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

TEST(Parcel, ComesOutAsItWentIn) {
    const Parcel parcel{Parcel::Kind::result, 0x0123456789abcdefU, 17, std::string("a\0b", 3)};
    EXPECT_EQ(Parcel::decode(parcel.encode()), parcel);
    EXPECT_EQ(parcel.encode()[1], '\xef') << "little-endian";
}

TEST(Parcel, OtherBytesAreRefused) {
    const std::string encoded = Parcel{.kind = Parcel::Kind::end}.encode();
    EXPECT_TRUE(Parcel::decode(encoded));
    EXPECT_FALSE(Parcel::decode(encoded.substr(1)));
    EXPECT_FALSE(Parcel::decode(""));
    EXPECT_FALSE(Parcel::decode('\7' + encoded.substr(1)));
}

TEST(ParcelParts, EachFitsAMessageAndTogetherTheyAreTheParcel) {
    for (const std::size_t size : {0U, 1U, 46U, 47U, 48U, 1000U}) {
        const Parcel parcel{.kind = Parcel::Kind::setup, .bytes = std::string(size, 'x')};
        ParcelParts arriving;
        std::optional<std::string> whole;
        for (const std::string& part : parts_of(parcel.encode(), 64)) {
            EXPECT_LE(part.size(), 64);
            EXPECT_FALSE(whole) << "complete before the last part";
            whole = arriving.add(bytes_of(part));
        }
        ASSERT_TRUE(whole) << size;
        EXPECT_EQ(Parcel::decode(*whole), parcel);
    }
}

TEST(ParcelParts, OneParcelFollowsAnother) {
    ParcelParts arriving;
    EXPECT_EQ(arriving.add(bytes_of(std::string("\0ab", 3))), std::nullopt);
    EXPECT_EQ(arriving.add(bytes_of("")), std::nullopt);
    EXPECT_EQ(arriving.add(bytes_of("\1c")), "abc");
    EXPECT_EQ(arriving.add(bytes_of("\1d")), "d");
}

}  // namespace
}  // namespace wireproof::task_pool
