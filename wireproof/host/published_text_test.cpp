#include "wireproof/host/published_text.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <thread>

namespace wireproof::host {
namespace {

using Texts = std::vector<std::string>;

std::string name_of(const char* what) {
    return std::string("wireproof-test-") + what + std::to_string(::getpid());
}

TEST(PublishedText, IsReadUnderItsName) {
    const std::string name = name_of("own");
    auto shown = PublishedText::open(name).value();
    EXPECT_EQ(read_published(::getpid(), name), Texts{""});
    shown.publish("a 1\nb 2\n");
    EXPECT_EQ(read_published(::getpid(), name), Texts{"a 1\nb 2\n"});
    shown.publish("a 3\n");
    EXPECT_EQ(read_published(::getpid(), name), Texts{"a 3\n"});
    EXPECT_EQ(read_published(::getpid(), name + "x"), Texts{});
    EXPECT_EQ(processes_with_published(name), std::vector{::getpid()});
}

TEST(PublishedText, EndsWithItsOwner) {
    const std::string name = name_of("ends");
    {
        auto shown = PublishedText::open(name).value();
        const PublishedText moved = std::move(shown);
        EXPECT_EQ(read_published(::getpid(), name).size(), 1U);
    }
    EXPECT_EQ(read_published(::getpid(), name).size(), 0U);
}

TEST(PublishedText, OfATooLongTextWholeLinesStandThere) {
    const std::string name = name_of("long");
    auto shown = PublishedText::open(name).value();
    std::string text;
    while (text.size() <= PublishedText::longest) text += "a line of some length 12345678\n";
    shown.publish(text);
    const Texts read = read_published(::getpid(), name);
    ASSERT_EQ(read.size(), 1U);
    EXPECT_LE(read[0].size(), PublishedText::longest);
    EXPECT_GT(read[0].size(), PublishedText::longest - 100);
    EXPECT_EQ(read[0].back(), '\n');
}

TEST(PublishedText, OfAStoppedProcessIsReadAndOfAForkedChildIsNot) {
    const std::string name = name_of("stopped");
    auto shown = PublishedText::open(name).value();
    shown.publish("of the parent\n");
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        auto own = PublishedText::open(name);
        own->publish("of the child\n");
        [[maybe_unused]] const auto told = ::write(pipe[1], "", 1);
        for (;;) ::pause();
    }
    char byte = 0;
    EXPECT_EQ(::read(pipe[0], &byte, 1), 1);
    ::kill(child, SIGSTOP);
    EXPECT_EQ(read_published(child, name), Texts{"of the child\n"});
    const auto processes = processes_with_published(name);
    EXPECT_EQ(std::ranges::count(processes, child), 1);
    EXPECT_EQ(std::ranges::count(processes, ::getpid()), 1);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_EQ(processes_with_published(name), std::vector{::getpid()});
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST(PublishedText, IsNeverReadHalfReplaced) {
    const std::string name = name_of("busy");
    auto shown = PublishedText::open(name).value();
    std::atomic<bool> over = false;
    std::thread writer([&] {
        for (char letter = 'a'; !over;
             letter = letter == 'z' ? 'a' : static_cast<char>(letter + 1)) {
            shown.publish(std::string(10'000, letter));
            ::usleep(50);
        }
    });
    for (int i = 0; i < 200; ++i) {
        for (const std::string& text : read_published(::getpid(), name)) {
            EXPECT_EQ(text.find_first_not_of(text.empty() ? 'a' : text[0]), std::string::npos);
        }
    }
    over = true;
    writer.join();
}

}  // namespace
}  // namespace wireproof::host
