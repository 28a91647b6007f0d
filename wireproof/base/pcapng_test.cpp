#include "wireproof/base/pcapng.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace wireproof {
namespace {

std::string hex(ConstBytes bytes) {
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        if (i > 0 && i % 4 == 0) text += ' ';
        text += digits[std::to_integer<std::size_t>(bytes[i] >> 4)];
        text += digits[std::to_integer<std::size_t>(bytes[i] & std::byte{15})];
    }
    return text;
}

const std::string header =
    "0a0d0d0a 28000000 4d3c2b1a 01000000 ffffffff ffffffff"  // section, version 1.0
    " 04000400 74657374 00000000 28000000";                  // userappl "test"
const std::string interface =
    " 01000000 28000000 93000000 00000000"  // LINKTYPE_USER0
    " 02000300 61746200 09000100 09000000"  // name "atb", nanoseconds
    " 00000000 28000000";

TEST(Pcapng, HeaderAndInterfaceAreTheBytesOfTheDraft) {
    PcapngFile file("test");
    EXPECT_EQ(hex(file.bytes()), header);
    EXPECT_EQ(file.add_interface("atb", link_type_user0), 0U);
    EXPECT_EQ(hex(file.bytes()), header + interface);
    EXPECT_EQ(file.add_interface("bta", link_type_user0), 1U);
}

TEST(Pcapng, APacketHasItsTimeInTwoHalvesAndIsFilledUpToWholeWords) {
    PcapngFile file("test");
    file.add_interface("atb", link_type_user0);
    const std::array bytes{std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}, std::byte{5}};
    file.add({.interface = 0, .nanoseconds = 0x1'0000'0002, .bytes = bytes});
    EXPECT_EQ(hex(file.bytes()), header + interface +
                                     " 06000000 28000000 00000000 01000000 02000000"
                                     " 05000000 05000000 01020304 05000000 28000000");
}

TEST(Pcapng, ACommentIsAnOptionBehindThePacket) {
    PcapngFile file("test");
    file.add_interface("atb", link_type_user0);
    file.add({.interface = 0, .nanoseconds = 7, .bytes = {}, .comment = "lost!"});
    EXPECT_EQ(hex(file.bytes()), header + interface +
                                     " 06000000 30000000 00000000 00000000 07000000"
                                     " 00000000 00000000 01000500 6c6f7374 21000000"
                                     " 00000000 30000000");
}

// A reader uses the lengths to walk forwards and backwards.
TEST(Pcapng, BlocksFollowOneAnotherByTheirLengthsBothWays) {
    PcapngFile file("an application whose name is no multiple of four");
    file.add_interface("odd", link_type_user0);
    std::array<std::byte, 7> bytes{};
    for (std::size_t size = 0; size <= bytes.size(); ++size) {
        file.add({.interface = 0,
                  .nanoseconds = size,
                  .bytes = ConstBytes(bytes).first(size),
                  .comment = std::string_view("seven..").substr(0, size)});
    }
    const ConstBytes all = file.bytes();
    std::size_t blocks = 0;
    for (std::size_t at = 0; at < all.size(); ++blocks) {
        const std::uint32_t length = load_le<std::uint32_t>(all.subspan(at + 4).first<4>());
        ASSERT_EQ(length % 4, 0U);
        ASSERT_LE(at + length, all.size());
        at += length;
        EXPECT_EQ(load_le<std::uint32_t>(all.subspan(at - 4).first<4>()), length);
    }
    EXPECT_EQ(blocks, 2 + 8U);
}

}  // namespace
}  // namespace wireproof
