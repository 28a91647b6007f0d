// Tests which comments of a packet log say that its packet was lost.
#include "wireproof/core/packet_marks.hpp"

#include <gtest/gtest.h>

namespace wireproof {
namespace {

TEST(PacketMarks, AWordOfTheCommentSaysThatThePacketWasLost) {
    for (const std::string_view comment :
         {"lost", "lost: SEND Only", "marked, lost", "lost, marked", "a, lost, b: ACK"}) {
        EXPECT_TRUE(says_lost(comment)) << comment;
    }
}

TEST(PacketMarks, AnotherWordAndTheNameOfThePacketDoNot) {
    for (const std::string_view comment : {"", "los", "lost again", "almost", "xlost", "marked",
                                           "marked: lost", "marked: a, lost"}) {
        EXPECT_FALSE(says_lost(comment)) << comment;
    }
}

}  // namespace
}  // namespace wireproof
