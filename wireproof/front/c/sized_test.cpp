// Structs of another version: shorter, longer, or of a size that cannot be.
#include "wireproof/front/c/sized.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>

#include "wireproof/front/c/text.hpp"

namespace wireproof::c {
namespace {

/// As a struct of this version, and as an earlier and a later version know it.
struct Known {
    std::size_t size;
    std::uint64_t first;
    std::uint64_t second;
};
struct Earlier {
    std::size_t size;
    std::uint64_t first;
};
struct Later {
    std::size_t size;
    std::uint64_t first;
    std::uint64_t second;
    std::uint64_t third;
};
constexpr Known defaults{sizeof(Known), 10, 20};

template <class Other>
bool read(const Other& from, Known& into) {
    into = defaults;
    return read_sized(reinterpret_cast<const Known*>(&from), into);
}

TEST(CSized, MissingMembersHaveTheirDefaults) {
    Known into{};
    ASSERT_TRUE(read(Earlier{sizeof(Earlier), 1}, into));
    EXPECT_EQ(into.size, sizeof(Known));
    EXPECT_EQ(into.first, 1U);
    EXPECT_EQ(into.second, 20U);
    ASSERT_TRUE(read(std::size_t{sizeof(std::size_t)}, into));
    EXPECT_EQ(into.first, 10U);
}

TEST(CSized, MembersOfALaterVersionMustBeZero) {
    Known into{};
    EXPECT_TRUE(read(Later{sizeof(Later), 1, 2, 0}, into));
    EXPECT_EQ(into.second, 2U);
    EXPECT_FALSE(read(Later{sizeof(Later), 1, 2, 1}, into));
    EXPECT_FALSE(read(Later{sizeof(Later), 1, 2, std::uint64_t{1} << 63}, into)) << "the last byte";
    EXPECT_TRUE(read(Later{sizeof(Known), 1, 2, 1}, into)) << "it does not count";
}

TEST(CSized, SizesThatCannotBeAreRefused) {
    std::array<std::size_t, 1024> room{};
    Known into{};
    for (const std::size_t size : {std::size_t{0}, std::size_t{1}, sizeof(std::size_t) - 1,
                                   sizeof(std::size_t) + 1, sizeof(Known) - 1, sizeof(Known) + 1,
                                   size_max + sizeof(std::size_t), SIZE_MAX, SIZE_MAX - 7}) {
        room[0] = size;
        EXPECT_FALSE(read(room, into)) << size;
        EXPECT_FALSE(is_writable(reinterpret_cast<const Known*>(room.data()))) << size;
        Known untouched{1, 2, 3};
        EXPECT_EQ(init_sized(defaults, &untouched, size), WIREPROOF_BAD_ARGUMENT) << size;
        EXPECT_EQ(untouched.first, 2U);
    }
    EXPECT_FALSE(read_sized(static_cast<const Known*>(nullptr), into));
    EXPECT_FALSE(is_writable(static_cast<const Known*>(nullptr)));
    EXPECT_EQ(init_sized(defaults, static_cast<Known*>(nullptr), sizeof(Known)),
              WIREPROOF_BAD_ARGUMENT);
    room[0] = size_max;
    EXPECT_TRUE(read(room, into));
}

TEST(CSized, OnlyTheSizeOfTheProgramIsWritten) {
    struct {
        Earlier earlier{sizeof(Earlier), 0};
        std::uint64_t behind = 7;
    } shorter;
    EXPECT_EQ(init_sized(defaults, reinterpret_cast<Known*>(&shorter.earlier), sizeof(Earlier)),
              WIREPROOF_OK);
    EXPECT_EQ(shorter.earlier.size, sizeof(Earlier));
    EXPECT_EQ(shorter.earlier.first, 10U);
    EXPECT_EQ(shorter.behind, 7U);

    Later later{1, 2, 3, 4};
    EXPECT_EQ(init_sized(defaults, reinterpret_cast<Known*>(&later), sizeof later), WIREPROOF_OK);
    EXPECT_EQ(later.size, sizeof(Later));
    EXPECT_EQ(later.second, 20U);
    EXPECT_EQ(later.third, 0U) << "the library does not know it";
}

TEST(CText, ALongTextIsCutBetweenCharacters) {
    std::array<char, 5> room{};
    const auto cut = [&](std::string_view text) {
        room.fill('x');
        put_text(text, room.data(), room.size());
        return std::string(room.data());
    };
    EXPECT_EQ(cut(""), "");
    EXPECT_EQ(cut("four"), "four");
    EXPECT_EQ(cut("fives"), "five");
    EXPECT_EQ(cut("abc\xc3\xa9"), "abc") << "two bytes";
    EXPECT_EQ(cut("ab\xc3\xa9z"), "ab\xc3\xa9");
    EXPECT_EQ(cut("a\xf0\x9f\x99\x82"), "a") << "four bytes";
    EXPECT_EQ(cut("\xf0\x9f\x99\x82z"), "\xf0\x9f\x99\x82");
    char one = 'x';
    put_text("text", &one, 1);
    EXPECT_EQ(one, '\0');
    put_text("text", &one, 0);
    put_text("text", nullptr, 9);
}

}  // namespace
}  // namespace wireproof::c
