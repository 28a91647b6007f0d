#include "wireproof/host/counters/counter_section.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <thread>

#include "wireproof/host/counters/counter_reader.hpp"
#include "wireproof/host/fork_test_kit.hpp"

namespace wireproof::host::test {
namespace {

constexpr std::array<CounterName, 2> totals = {
    {{"wire.sent", "frames"}, {"waiting", "calls", CounterKind::gauge}}};
constexpr std::array<CounterName, 3> of_rows = {
    {{"sent", "frames"}, {"lost", "frames"}, {"window", "packets", CounterKind::gauge}}};

const SteadyClock& test_clock() {
    static const SteadyClock clock;
    return clock;
}

std::unique_ptr<CounterSection> open_section(std::size_t rows = 4) {
    return CounterSection::open({CounterSource::ib_device, totals, of_rows, rows}, test_clock());
}

std::vector<PublishedSection> shown_by(pid_t process) {
    const auto read = read_counters(process);
    EXPECT_TRUE(read.skipped.empty()) << read.skipped.front();
    return read.sections;
}

std::vector<PublishedSection> shown() {
    return shown_by(::getpid());
}

/// The descriptors of this process that lead to a file of counters.
std::vector<int> counter_descriptors() {
    std::vector<int> found;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
        std::error_code error;
        const auto target = std::filesystem::read_symlink(entry.path(), error).string();
        if (target == "/memfd:" + std::string(counter_file_name) + " (deleted)") {
            found.push_back(std::stoi(entry.path().filename().string()));
        }
    }
    return found;
}

TEST(CounterSection, IsReadAsItWasWritten) {
    const auto section = open_section();
    ASSERT_NE(section, nullptr);
    section->begin(test_clock().now());
    section->set_details("address=127.0.0.1\n");
    section->set_total(0, 5);
    section->set_total(1, ~std::uint64_t{0});
    section->set_row_text(0, "17", "state=RTS\n");
    section->set_row_text(1, "18", "");
    for (std::size_t i = 0; i < 3; ++i) section->set_value(1, i, 100 + i);
    section->set_rows(2, 9);
    section->end();
    const auto all = shown();
    ASSERT_EQ(all.size(), 1U);
    EXPECT_EQ(all[0].source, CounterSource::ib_device);
    EXPECT_EQ(all[0].details, (CounterDetails{{"address", "127.0.0.1"}}));
    EXPECT_EQ(all[0].totals[0].name, "wire.sent");
    EXPECT_EQ(all[0].totals[1].kind, CounterKind::gauge);
    EXPECT_EQ(all[0].values, (std::vector<std::uint64_t>{5, ~std::uint64_t{0}}));
    ASSERT_EQ(all[0].rows.size(), 2U);
    EXPECT_EQ(all[0].rows[0].details, (CounterDetails{{"state", "RTS"}}));
    EXPECT_EQ(all[0].rows[1].name, "18");
    EXPECT_EQ(all[0].rows[1].values, (std::vector<std::uint64_t>{100, 101, 102}));
    EXPECT_EQ(all[0].rows_missing, 9U);
    EXPECT_TRUE(all[0].is_consistent);
    EXPECT_LT(all[0].age_ns, 60'000'000'000U);
    section->begin(test_clock().now());
    section->set_row_text(0, "9", "");
    section->set_rows(1, 0);
    section->end();
    ASSERT_EQ(shown()[0].rows.size(), 1U);
    EXPECT_EQ(shown()[0].rows[0].name, "9") << "nothing of the longer name is left";
    EXPECT_TRUE(shown()[0].rows[0].details.empty());
}

TEST(CounterSection, WritingThatAnExceptionEndedBeginsAnew) {
    const auto section = open_section();
    section->begin(test_clock().now());
    section->set_total(0, 5);
    EXPECT_FALSE(shown()[0].is_consistent);
    section->begin(test_clock().now());
    EXPECT_FALSE(shown()[0].is_consistent);
    section->set_total(0, 6);
    section->end();
    EXPECT_TRUE(shown()[0].is_consistent);
    EXPECT_EQ(shown()[0].values[0], 6U);
}

TEST(CounterSection, EndsWithItsOwnerAndItsPlaceIsUsedAgain) {
    auto first = open_section();
    auto second = open_section();
    EXPECT_EQ(counter_descriptors().size(), 1U) << "they share a file";
    EXPECT_EQ(shown().size(), 2U);
    first->begin(test_clock().now());
    first->set_total(0, 5);
    first->end();
    first.reset();
    EXPECT_EQ(shown().size(), 1U);
    first = open_section();
    ASSERT_EQ(shown().size(), 2U);
    EXPECT_EQ(shown()[0].values, (std::vector<std::uint64_t>{0, 0})) << "nothing is left there";
    first.reset();
    second.reset();
    EXPECT_TRUE(counter_descriptors().empty());
}

TEST(CounterSection, ManyTakeOneDescriptorAndOnesWithoutRoomAreCounted) {
    std::vector<std::unique_ptr<CounterSection>> sections;
    for (std::size_t i = 0; i < counter_places + 1; ++i) sections.push_back(open_section(1));
    EXPECT_EQ(sections.back(), nullptr);
    EXPECT_NE(sections[counter_places - 1], nullptr);
    EXPECT_EQ(counter_descriptors().size(), 1U);
    const auto read = read_counters(::getpid());
    EXPECT_EQ(read.sections.size(), counter_places);
    EXPECT_EQ(read.unpublished, 1U);
    sections.clear();
    // 128 sections of the longest rows do not fit into 64 MiB with others; each that fits is whole.
    const std::vector<CounterName> many(1, CounterName{"a", ""});
    for (int i = 0; i < 300; ++i) sections.push_back(open_section(counter_rows_max));
    EXPECT_NE(sections[200], nullptr);
    EXPECT_EQ(sections.back(), nullptr);
}

TEST(CounterSection, DetailsAreCutAfterAWholeLine) {
    const auto section = open_section();
    std::string lines;
    while (lines.size() < 400) lines += "key=value of some length\n";
    section->begin(test_clock().now());
    section->set_details(lines);
    section->set_row_text(0, "1", lines);
    section->set_rows(1, 0);
    section->end();
    const auto all = shown();
    EXPECT_EQ(all[0].details.size(), 384 / 25);
    EXPECT_EQ(all[0].details.back().second, "value of some length");
    EXPECT_EQ(all[0].rows[0].details.size(), 192 / 25);
}

// A reader may map the file: it cannot become shorter under the reader. Nobody but the owner's user
// may open it, and nobody may open it for writing.
TEST(CounterSection, ItsFileIsSealedAndReadOnly) {
    const auto section = open_section();
    ASSERT_EQ(counter_descriptors().size(), 1U);
    const int file = counter_descriptors()[0];
    EXPECT_EQ(::fcntl(file, F_GET_SEALS) & (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL),
              F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
    EXPECT_NE(::ftruncate(file, 0), 0);
    struct stat facts {};
    ASSERT_EQ(::fstat(file, &facts), 0);
    EXPECT_EQ(facts.st_mode & 0777U, 0400U);
    EXPECT_NE(::fcntl(file, F_GETFD) & FD_CLOEXEC, 0);
}

TEST(CounterSection, AForkedChildNeitherWritesToItNorShowsIt) {
    const auto section = open_section();
    section->begin(test_clock().now());
    section->set_total(0, 5);
    section->end();
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    if (child == 0) {
        section->begin(test_clock().now());
        section->set_total(0, 6);
        section->end();
        auto own = open_section();
        own->begin(test_clock().now());
        own->set_total(0, 7);
        own->end();
        [[maybe_unused]] const auto told = ::write(pipe[1], "", 1);
        for (;;) ::pause();
    }
    char byte = 0;
    ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
    ASSERT_EQ(shown().size(), 1U);
    EXPECT_EQ(shown()[0].values[0], 5U);
    ::kill(child, SIGSTOP);
    const auto of_child = shown_by(child);
    ASSERT_EQ(of_child.size(), 1U) << "that of its parent is not the child's";
    EXPECT_EQ(of_child[0].values[0], 7U);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    EXPECT_TRUE(shown_by(child).empty());
    ::close(pipe[0]);
    ::close(pipe[1]);
}

TEST(CounterSection, AChildOfAChildHasItsOwn) {
    const auto section = open_section();
    const auto in_grandchild = [] {
        if (!counter_descriptors().empty() || !shown().empty()) return 2;
        const auto own = open_section();
        return own != nullptr && shown().size() == 1 ? 42 : 3;
    };
    EXPECT_EQ(in_child([&] {
                  const auto of_child = open_section();
                  return of_child != nullptr ? in_child(in_grandchild) : 1;
              }),
              42);
}

TEST(CounterSection, IsMissingIfThereIsNoDescriptor) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit none{3, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    const auto section = open_section();
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_EQ(section, nullptr);
    EXPECT_NE(open_section(), nullptr);
}

// The kernel ends a process by SIGXFSZ that makes a file longer than it may.
TEST(CounterSection, WithALimitOfFilesThereIsAShorterOneOrNone) {
    EXPECT_EQ(in_child([] {
                  const rlimit limit{1 << 20, 1 << 20};
                  ::setrlimit(RLIMIT_FSIZE, &limit);
                  const auto section = open_section();
                  return section != nullptr && shown().size() == 1 ? 42 : 1;
              }),
              42);
    EXPECT_EQ(in_child([] {
                  const rlimit limit{4096, 4096};
                  ::setrlimit(RLIMIT_FSIZE, &limit);
                  return open_section() == nullptr ? 42 : 1;
              }),
              42);
}

TEST(CounterSection, AnEnvironmentVariableSwitchesItOff) {
    const auto with = [](const char* value) {
        return in_child([value] {
            ::setenv("WIREPROOF_NO_COUNTERS", value, 1);
            return open_section() == nullptr ? 1 : 0;
        });
    };
    EXPECT_EQ(with("1"), 1);
    EXPECT_EQ(with("yes"), 1);
    EXPECT_EQ(with("0"), 0);
    EXPECT_EQ(with(""), 0);
}

// A program may close all descriptors and open others. Their files must stay as they are.
TEST(CounterSection, ADescriptorThatTheProgramTookIsLeftAlone) {
    EXPECT_EQ(in_child([] {
                  auto section = open_section();
                  const int file = counter_descriptors()[0];
                  const int others = ::memfd_create("others", MFD_CLOEXEC);
                  if (::write(others, "precious", 8) != 8) return 1;
                  ::dup2(others, file);
                  auto next = open_section();
                  if (next == nullptr || shown().size() != 1) return 2;
                  section.reset();
                  char bytes[9] = {};
                  if (::pread(file, bytes, 9, 0) != 8) return 3;
                  return std::string_view(bytes) == "precious" ? 42 : 4;
              }),
              42);
}

TEST(CounterSection, ValuesThatAReaderTakesAreOfOneMoment) {
    constexpr std::size_t rows = 256;
    const auto section = open_section(rows);
    std::atomic<bool> over = false;
    std::thread owner([&] {
        for (std::uint64_t i = 1; !over; ++i) {
            section->begin(test_clock().now());
            section->set_total(0, i);
            for (std::size_t row = 0; row < rows; ++row) {
                section->set_row_text(row, std::to_string(row), "");
                for (std::size_t n = 0; n < 3; ++n) section->set_value(row, n, i);
            }
            section->set_rows(rows, 0);
            section->end();
            ::usleep(50);
        }
    });
    constexpr int wanted = 100;
    int consistent = 0;
    const Instant hangs = test_clock().now() + Duration::milliseconds(120'000);
    while (consistent < wanted && test_clock().now() < hangs) {
        const auto all = shown();
        ASSERT_EQ(all.size(), 1U);
        if (!all[0].is_consistent || all[0].rows.empty()) continue;
        ++consistent;
        std::size_t others = 0;
        for (const PublishedRow& row : all[0].rows) {
            for (const std::uint64_t value : row.values)
                others += value != all[0].values[0] ? 1U : 0U;
        }
        EXPECT_EQ(others, 0U);
    }
    over = true;
    owner.join();
    EXPECT_EQ(consistent, wanted);
}

}  // namespace
}  // namespace wireproof::host::test
