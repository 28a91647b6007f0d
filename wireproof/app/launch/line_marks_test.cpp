#include "wireproof/app/launch/line_marks.hpp"

#include <gtest/gtest.h>

namespace wireproof::launch {
namespace {

std::string marked(std::initializer_list<std::string_view> pieces) {
    LineMarks marks("[3] ");
    std::string out;
    for (const std::string_view piece : pieces) marks.pass(piece, out);
    marks.finish(out);
    return out;
}

TEST(LineMarks, EachLineGetsOneMarkHoweverItArrives) {
    for (const auto& pieces : {std::initializer_list<std::string_view>{"a\nbc\n\n"},
                               {"a", "\nb", "c\n", "\n"},
                               {"", "a\nb", "", "c", "\n\n"}}) {
        EXPECT_EQ(marked(pieces), "[3] a\n[3] bc\n[3] \n");
    }
}

TEST(LineMarks, ALineWithoutItsEndWaitsAndIsEndedAtLast) {
    LineMarks marks("> ");
    std::string out;
    marks.pass("a\nb", out);
    EXPECT_EQ(out, "> a\n");
    marks.finish(out);
    EXPECT_EQ(out, "> a\n> b\n");
    marks.finish(out);
    EXPECT_EQ(out, "> a\n> b\n");
}

TEST(LineMarks, ALongLineIsPassedInPieces) {
    const std::string half(LineMarks::line_max, 'x');
    EXPECT_EQ(marked({half + half + "y\n"}), "[3] " + half + "\n[3] " + half + "\n[3] y\n");
    EXPECT_EQ(marked({half, "\n", "y"}), "[3] " + half + "\n[3] y\n");
    EXPECT_EQ(marked({half + "\ny"}), "[3] " + half + "\n[3] y\n");
}

}  // namespace
}  // namespace wireproof::launch
