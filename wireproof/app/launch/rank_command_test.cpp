#include "wireproof/app/launch/rank_command.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace wireproof::launch {
namespace {

using Words = std::vector<std::string>;

TEST(RankCommand, ARankLearnsItsPlaceButNoSecret) {
    const Variables variables = rank_variables({"00ff", "secret", 4, 7000}, 3, "b");
    EXPECT_EQ(variables, Variables({{"WIREPROOF_RANK", "3"},
                                    {"WIREPROOF_SIZE", "4"},
                                    {"WIREPROOF_JOB", "00ff"},
                                    {"WIREPROOF_HOST", "b"}}));
}

TEST(RankCommand, EachWordOfARemoteRankIsQuotedForTheOtherShell) {
    const Words words = remote_command({.ssh = " ssh  -o BatchMode=yes ",
                                        .host = "b",
                                        .folder = "/my folder",
                                        .address = "",
                                        .port = 7000,
                                        .variables = {{"A", "x;y"}},
                                        .program = {"./a b", "", "$c"}});
    ASSERT_EQ(words.size(), 16U);
    EXPECT_TRUE(std::equal(words.begin(), words.begin() + 7,
                           Words({"ssh", "-o", "BatchMode=yes", "b", "--", "sh", "-c"}).begin()));
    EXPECT_TRUE(words[7].starts_with("'cd -- "));
    EXPECT_EQ(
        Words(words.begin() + 8, words.end()),
        Words({"wireproof", "'/my folder'", "''", "7000", "'A=x;y'", "'./a b'", "''", "'$c'"}));
    for (const std::string& word : words) {
        EXPECT_EQ(word.find('\n'), word.npos) << "not for each shell: " << word;
    }
}

}  // namespace
}  // namespace wireproof::launch
