#include "wireproof/host/rendezvous/rendezvous_text.hpp"

#include <gtest/gtest.h>

namespace wireproof::host {
namespace {

using Entries = std::vector<std::string>;

TEST(RendezvousText, ARequestIsReadBack) {
    const std::string line = request_line({"a1b2", 3, 65'536, 7});
    EXPECT_EQ(line, "wireproof-rendezvous 1 a1b2 3 7 65536\n");
    const auto read = parse_request_line(std::string_view(line).substr(0, line.size() - 1));
    ASSERT_TRUE(read);
    EXPECT_EQ(read->token, "a1b2");
    EXPECT_EQ(read->rank, 3U);
    EXPECT_EQ(read->length, 65'536U);
    EXPECT_EQ(read->exchange, 7U);
}

TEST(RendezvousText, ALineThatIsNoRequestIsRefused) {
    for (const char* line : {"",
                             "GET / HTTP/1.1",
                             "wireproof-rendezvous 2 a 0 0 0",
                             "wireproof-rendezvous 1 ",
                             "wireproof-rendezvous 1 a",
                             "wireproof-rendezvous 1 a 0",
                             "wireproof-rendezvous 1 a 0 ",
                             "wireproof-rendezvous 1 a 0 0",
                             "wireproof-rendezvous 1 a 0 0 ",
                             "wireproof-rendezvous 1  0 0 0",
                             "wireproof-rendezvous 1 a -1 0 0",
                             "wireproof-rendezvous 1 a 0x1 0 0",
                             "wireproof-rendezvous 1 a 01 0 0",
                             "wireproof-rendezvous 1 a 0 -1 0",
                             "wireproof-rendezvous 1 a 0 4294967296 0",
                             "wireproof-rendezvous 1 a 0 0 1 ",
                             "wireproof-rendezvous 1 a 0 0 1 2",
                             "wireproof-rendezvous 1 a 65536 0 0",
                             "wireproof-rendezvous 1 a 0 0 65537",
                             "wireproof-rendezvous 1 a 0 0 18446744073709551616"}) {
        EXPECT_FALSE(parse_request_line(line)) << line;
    }
}

TEST(RendezvousText, AnAnswerIsReadBackWhateverTheEntriesAre) {
    const Entries entries = {"", std::string("\0\n ok", 5), std::string(4096, 'x')};
    const std::string text = answer_of(entries);
    for (std::size_t length = 0; length < text.size(); ++length) {
        const auto read = parse_answer(std::string_view(text).substr(0, length), 3);
        ASSERT_TRUE(read) << length;
        EXPECT_FALSE(*read) << length;
    }
    const auto read = parse_answer(text, 3);
    ASSERT_TRUE(read && *read);
    EXPECT_EQ(**read, entries);
}

TEST(RendezvousText, ARefusalIsOneLineThatCannotControlATerminal) {
    const std::string text = refusal_of("rank 3\n\x1b[2J is here");
    EXPECT_EQ(text, "no rank 3??[2J is here\n");
    const auto read = parse_answer("no such\x1b rank\n", 3);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().message, "such? rank");
    EXPECT_LT(refusal_of(std::string(10'000, 'x')).size(), 1000U);
}

TEST(RendezvousText, AnAnswerThatIsNoneIsRefused) {
    for (const std::string& text :
         {std::string("ok 1 1\nab"), std::string("ok 1 1 1 1\nabcd"), std::string("ok 1 1 1\nabcd"),
          std::string("ok 1 1 65537\n"), std::string("ok 1 1 x\n"), std::string("ok  1 1 1\nabc"),
          std::string("\n"), std::string("HTTP/1.1 400\n"), std::string(2000, 'x')}) {
        EXPECT_FALSE(parse_answer(text, 3)) << text;
    }
}

}  // namespace
}  // namespace wireproof::host
