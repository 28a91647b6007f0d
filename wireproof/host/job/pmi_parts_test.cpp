#include "wireproof/host/job/pmi_parts.hpp"

#include <gtest/gtest.h>

#include "wireproof/base/random.hpp"
#include "wireproof/host/job/job_board.hpp"

namespace wireproof::host {
namespace {

Expected<std::string> joined(const std::vector<std::string>& parts) {
    PmiEntry entry;
    for (const std::string& part : parts) {
        if (entry.complete()) return unexpected("more parts than the entry has");
        const auto added = entry.add(part);
        if (!added) return tl::unexpected(added.error());
    }
    if (!entry.complete()) return unexpected("not complete");
    return entry.take();
}

TEST(PmiParts, AnEntryOfAnyBytesAndLengthIsReadBack) {
    Random random(7);
    for (const std::size_t length :
         {std::size_t{0}, std::size_t{1}, std::size_t{498}, std::size_t{499}, std::size_t{500},
          std::size_t{5000}, JobBoard::entry_max}) {
        std::string entry(length, '\0');
        for (char& c : entry) c = static_cast<char>(random.next());
        const auto parts = pmi_parts(entry);
        for (const std::string& part : parts) EXPECT_LE(part.size(), pmi_part_max);
        EXPECT_EQ(joined(parts).value(), entry) << length;
    }
    EXPECT_EQ(pmi_parts("job"), std::vector<std::string>{"3:6a6f62"});
}

TEST(PmiParts, WhatIsNoEntryIsRefused) {
    using Parts = std::vector<std::string>;
    for (const Parts& parts :
         {Parts{""}, Parts{":"}, Parts{"3"}, Parts{"x:"}, Parts{"-1:"}, Parts{"1:6"}, Parts{"1:6x"},
          Parts{"1:6A"}, Parts{"1:6a6f"}, Parts{"65537:"}, Parts{"01:6a"}, Parts{"2:6a", ""},
          Parts{"2:6a", "6f62"}, Parts{"2:6a"}, Parts{"18446744073709551617:6a"}}) {
        EXPECT_FALSE(joined(parts)) << parts.front();
    }
}

TEST(PmiParts, NoBytesOfAnotherProcessDoHarm) {
    Random random(11);
    for (int run = 0; run < 20'000; ++run) {
        std::vector<std::string> parts = pmi_parts(std::string(random.below(1200), 'x'));
        std::string& part = parts[random.below(parts.size())];
        for (std::uint64_t changes = random.below(4); changes > 0 && !part.empty(); --changes) {
            part[random.below(part.size())] = static_cast<char>(random.next());
        }
        if (random.chance(0.2)) part.resize(random.below(part.size() + 1));
        const auto entry = joined(parts);
        if (entry) {
            EXPECT_LE(entry->size(), 1200U);
        }
    }
}

}  // namespace
}  // namespace wireproof::host
