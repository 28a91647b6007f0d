#include "wireproof/host/counters/counter_reader.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "wireproof/base/random.hpp"
#include "wireproof/host/counters/counter_test_kit.hpp"
#include "wireproof/host/counters/section_parser.hpp"

namespace wireproof::host::test {
namespace {

PublishedProcess read_back(const CounterFileBytes& made) {
    const MadeFile file(made.bytes);
    return read_counters(::getpid());
}

TEST(CounterReader, ReadsWhatTheLayoutSays) {
    const auto read = read_back({});
    EXPECT_EQ(read.access, PublishedProcess::Access::granted);
    EXPECT_TRUE(read.skipped.empty());
    ASSERT_EQ(read.sections.size(), 1U);
    const PublishedSection& section = read.sections[0];
    EXPECT_EQ(section.source, CounterSource::endpoint);
    EXPECT_EQ(section.started_unix_ns, 7U);
    EXPECT_TRUE(section.is_consistent);
    EXPECT_EQ(section.details, (CounterDetails{{"address", "a b"}, {"node", "1"}}));
    ASSERT_EQ(section.totals.size(), 1U);
    EXPECT_EQ(section.totals[0].name, "wire.sent");
    EXPECT_EQ(section.totals[0].unit, "frames");
    EXPECT_EQ(section.totals[0].kind, CounterKind::counter);
    EXPECT_EQ(section.values, std::vector<std::uint64_t>{11});
    ASSERT_EQ(section.row_counters.size(), 1U);
    EXPECT_EQ(section.row_counters[0].kind, CounterKind::gauge);
    ASSERT_EQ(section.rows.size(), 2U);
    EXPECT_EQ(section.rows[1].name, "6");
    EXPECT_EQ(section.rows[1].values, std::vector<std::uint64_t>{21});
    EXPECT_EQ(section.rows_missing, 0U);
}

TEST(CounterReader, SaysHowOldTheValuesAre) {
    using std::chrono::steady_clock;
    CounterFileBytes made;
    const auto clock = [] {
        const auto now = std::chrono::nanoseconds(steady_clock::now().time_since_epoch()).count();
        return static_cast<std::uint64_t>(now);
    };
    const std::uint64_t now = clock();
    made.section().updated_ns = now - 5'000'000'000;
    const auto read = read_back(made);
    ASSERT_EQ(read.sections.size(), 1U);
    EXPECT_GE(read.sections[0].age_ns, 5'000'000'000U);
    EXPECT_LE(read.sections[0].age_ns, 5'000'000'000U + (clock() - now));
    made.section().updated_ns = now + 3'600'000'000'000;
    ASSERT_EQ(read_back(made).sections.size(), 1U);
    EXPECT_EQ(read_back(made).sections[0].age_ns, 0U) << "another namespace has another clock";
}

TEST(CounterReader, TakesRowsThatAreInUseOnly) {
    CounterFileBytes made;
    made.section().rows = 1;
    made.section().rows_missing = 3;
    const auto read = read_back(made);
    ASSERT_EQ(read.sections.size(), 1U);
    EXPECT_EQ(read.sections[0].rows.size(), 1U);
    EXPECT_EQ(read.sections[0].rows_missing, 3U);
}

// A program that was stopped while it wrote is shown.
TEST(CounterReader, AnOddSequenceIsReportedAndTheValuesAreRead) {
    CounterFileBytes made;
    made.section().sequence = 3;
    const auto read = read_back(made);
    ASSERT_EQ(read.sections.size(), 1U);
    EXPECT_FALSE(read.sections[0].is_consistent);
    EXPECT_EQ(read.sections[0].values, std::vector<std::uint64_t>{11});
}

TEST(CounterReader, AFileOfAnotherProcessOrNameIsNotRead) {
    CounterFileBytes made;
    made.header().process = ::getpid() + 1;
    EXPECT_TRUE(read_back(made).sections.empty());
    EXPECT_TRUE(read_back(made).skipped.empty());
    const MadeFile other(CounterFileBytes().bytes, "wireproof-counters2");
    EXPECT_TRUE(read_counters(::getpid()).sections.empty());
}

// Its owner has made it and has not filled it yet.
TEST(CounterReader, AFileThatIsBeingMadeIsLeftOutInSilence) {
    CounterFileBytes made;
    made.header().magic = 0;
    for (const std::size_t length : {made.bytes.size(), std::size_t{7}, std::size_t{0}}) {
        made.bytes.resize(length);
        const auto read = read_back(made);
        EXPECT_TRUE(read.sections.empty()) << length;
        EXPECT_TRUE(read.skipped.empty()) << length;
    }
}

TEST(CounterReader, SaysWhyThereIsNothing) {
    EXPECT_EQ(read_counters(0x7FFFFFFF).access, PublishedProcess::Access::no_process);
    EXPECT_EQ(read_counters(::getpid()).access, PublishedProcess::Access::granted);
    EXPECT_TRUE(read_counters(::getpid()).sections.empty());
}

TEST(CounterReader, FindsItselfAmongAllProcesses) {
    const auto is_own = [](const PublishedProcess& one) { return one.process == ::getpid(); };
    EXPECT_TRUE(std::ranges::none_of(read_all_counters(), is_own));
    const MadeFile file(CounterFileBytes().bytes);
    EXPECT_EQ(std::ranges::count_if(read_all_counters(), is_own), 1);
}

struct Malformed {
    const char* why;  // a part of the line
    std::function<void(CounterFileBytes&)> spoil;
};

TEST(CounterReader, WhatIsMalformedIsSkippedWithOneLine) {
    const std::vector<Malformed> all = {
        {"not a file of counters", [](auto& made) { made.header().magic ^= 1; }},
        {"not a file of counters", [](auto& made) { made.bytes.resize(63); }},
        {"version 2", [](auto& made) { made.header().version = 2; }},
        {"impossible sizes", [](auto& made) { made.header().size -= 1; }},
        {"impossible sizes", [](auto& made) { made.header().places = counter_places + 1; }},
        {"ends within its table",
         [](auto& made) {
             made.place().offset = 0;
             made.bytes.resize(100);
             made.header().size = 100;
         }},
        {"section 0 is not within the file", [](auto& made) { made.place().offset = 1ULL << 62; }},
        {"section 0 is not within the file", [](auto& made) { made.place().size = ~0ULL; }},
        {"section 0 is not within the file", [](auto& made) { made.place().offset += 1; }},
        {"section 0: it is shorter than its header", [](auto& made) { made.place().size = 511; }},
        {"section 0: not a section", [](auto& made) { made.section().magic = 0; }},
        {"no known kind", [](auto& made) { made.section().source = 0; }},
        {"no known kind", [](auto& made) { made.section().source = 4; }},
        {"impossible numbers", [](auto& made) { made.section().totals = 257; }},
        {"impossible numbers", [](auto& made) { made.section().row_counters = 257; }},
        {"impossible numbers", [](auto& made) { made.section().row_places = 1025; }},
        {"impossible numbers", [](auto& made) { made.section().rows = 3; }},
        {"impossible sizes", [](auto& made) { made.section().row_size += 8; }},
        {"impossible sizes", [](auto& made) { made.place().size -= 1; }},
        {"other characters", [](auto& made) { made.set_entry(0, "", CounterKind::counter); }},
        {"other characters", [](auto& made) { made.set_entry(0, "A", CounterKind::counter); }},
        {"other characters", [](auto& made) { made.set_entry(0, ".a", CounterKind::counter); }},
        {"other characters", [](auto& made) { made.set_entry(0, "a.", CounterKind::counter); }},
        {"other characters", [](auto& made) { made.set_entry(0, "a..b", CounterKind::counter); }},
        {"other characters", [](auto& made) { made.set_entry(1, "a/b", CounterKind::counter); }},
        {"other characters", [](auto& made) { made.entry(0).unit[0] = '\n'; }},
        {"neither a counter", [](auto& made) { made.entry(0).kind = 3; }},
        {"row 5 is there twice", [](auto& made) { made.name_of(1)[0] = '5'; }},
        {"no printable name", [](auto& made) { made.name_of(1)[0] = '\0'; }},
        {"no printable name", [](auto& made) { made.name_of(1)[0] = '\x1b'; }},
    };
    for (const Malformed& one : all) {
        CounterFileBytes made;
        one.spoil(made);
        const auto read = read_back(made);
        EXPECT_TRUE(read.sections.empty()) << one.why;
        ASSERT_EQ(read.skipped.size(), 1U) << one.why;
        EXPECT_NE(read.skipped[0].find(one.why), std::string::npos) << read.skipped[0];
        EXPECT_EQ(read.skipped[0].substr(0, 11), "descriptor ");
    }
}

TEST(CounterReader, ACounterThatIsThereTwiceIsMalformed) {
    CounterFileBytes made;
    made.section().totals = 2;
    made.section().row_counters = 0;
    made.section().rows = 0;
    made.section().row_size = sizeof(CounterRowHeader);
    made.set_entry(1, "wire.sent", CounterKind::counter);
    made.bytes.resize(CounterFileBytes::section_at + 4096);
    made.header().size = made.bytes.size();
    made.place().size = 4096;
    const auto read = read_back(made);
    ASSERT_EQ(read.skipped.size(), 1U);
    EXPECT_NE(read.skipped[0].find("wire.sent is there twice"), std::string::npos);
}

TEST(CounterReader, AMalformedSectionDoesNotHideTheOthers) {
    CounterFileBytes made;
    made.place(1) = made.place(0);
    made.bytes.resize(2 * made.bytes.size());
    made.header().size = made.bytes.size();
    made.place(0).offset += 8;
    const auto read = read_back(made);
    EXPECT_EQ(read.sections.size(), 1U);
    EXPECT_EQ(read.skipped.size(), 1U);
}

// Otherwise 1,024 places could name the same 64 MiB.
TEST(CounterReader, PlacesThatOverlapAreNotReadAgainAndAgain) {
    CounterFileBytes made;
    for (std::size_t i = 1; i < counter_places; ++i) made.place(i) = made.place(0);
    const auto read = read_back(made);
    EXPECT_LT(read.sections.size(), 60U);
    ASSERT_EQ(read.skipped.size(), 1U);
    EXPECT_NE(read.skipped[0].find("is not within the file"), std::string::npos);
}

TEST(CounterReader, AProcessHasFewFiles) {
    std::vector<std::unique_ptr<MadeFile>> files;
    for (int i = 0; i < 9; ++i) {
        files.push_back(std::make_unique<MadeFile>(CounterFileBytes().bytes));
    }
    const auto read = read_counters(::getpid());
    EXPECT_EQ(read.sections.size(), 8U);
    EXPECT_EQ(read.skipped, std::vector<std::string>{"more than 8 files of counters"});
}

TEST(CounterReader, AnyBytesOfASectionAreReadOrRefused) {
    Random random(5);
    CounterFileBytes made;
    const auto whole =
        std::vector<std::byte>(made.bytes.begin() + CounterFileBytes::section_at, made.bytes.end());
    std::size_t read = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::vector<std::byte> bytes = whole;
        for (std::size_t n = random.below(4); n > 0; --n) {
            bytes[random.below(bytes.size())] = static_cast<std::byte>(random.below(256));
        }
        bytes.resize(random.below(3) == 0 ? random.below(bytes.size()) : bytes.size());
        if (parse_section(bytes)) ++read;
    }
    EXPECT_GT(read, 1000U);
    EXPECT_LT(read, 19'000U);
}

}  // namespace
}  // namespace wireproof::host::test
