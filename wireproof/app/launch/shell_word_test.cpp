#include "wireproof/app/launch/shell_word.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

namespace wireproof::launch {
namespace {

/// What a shell makes of the words, each in brackets.
std::string read_by_shell(const std::string& words) {
    const std::string command = "for word in " + words + "; do printf '[%s]' \"$word\"; done";
    std::FILE* shell = ::popen(command.c_str(), "r");
    if (shell == nullptr) return "no shell";
    std::string text;
    std::array<char, 256> part;
    while (const std::size_t got = std::fread(part.data(), 1, part.size(), shell)) {
        text.append(part.data(), got);
    }
    return ::pclose(shell) == 0 ? text : "failed: " + text;
}

TEST(ShellWord, PlainTextStaysReadable) {
    EXPECT_EQ(shell_word("/usr/bin/a-b_c.9"), "/usr/bin/a-b_c.9");
    EXPECT_EQ(shell_word(""), "''");
    EXPECT_EQ(shell_word("a b"), "'a b'");
    EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
}

TEST(ShellWord, AShellReadsBackExactlyTheText) {
    for (const std::string& text :
         {std::string(), std::string(" "), std::string("a b  c"), std::string("'"),
          std::string("''\"\"'"), std::string("a;touch b"),
          std::string("$HOME ${x} $(date) `date`"), std::string("two\nlines\n "),
          std::string("\\n \\' \\\\"), std::string("* ? [a] ~ {a,b}"), std::string("a=b"),
          std::string("-n"), std::string("#x"), std::string("a&b|c<d>e(f)"), std::string("!x"),
          std::string("\t\x01\x7f"), std::string("\xc3\xa4\xff")}) {
        EXPECT_EQ(read_by_shell(shell_word(text)), "[" + text + "]");
    }
}

TEST(ShellWord, EachByteIsReadBack) {
    std::string text;
    for (int c = 1; c < 256; ++c) text += static_cast<char>(c);
    EXPECT_EQ(read_by_shell(shell_word(text)), "[" + text + "]");
}

// A command for another host passes two shells.
TEST(ShellWord, AWordOfAWordIsReadBackTwice) {
    const std::string text = "it's $HOME; \"a\"\n";
    const std::string inner = "printf '[%s]' " + shell_word(text);
    EXPECT_EQ(read_by_shell("$(sh -c " + shell_word("printf %s " + shell_word("x'y;z")) + ")"),
              "[x'y;z]");
    EXPECT_EQ(read_by_shell("\"$(sh -c " + shell_word(inner) + ")\""), "[[" + text + "]]");
}

}  // namespace
}  // namespace wireproof::launch
