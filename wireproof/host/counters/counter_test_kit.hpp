// For tests: a file with any content under the name of the file of counters.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "wireproof/host/counters/layout.hpp"

namespace wireproof::host::test {

/// A section with one total, one counter of rows and two rows, and a file with that section. The
/// caller changes the bytes and then writes them.
class CounterFileBytes {
public:
    static constexpr std::size_t section_at = 32 << 10;
    static constexpr CounterSectionShape shape{.totals = 1, .row_counters = 1, .row_places = 2};

    CounterFileBytes() : bytes(section_at + shape.size()) {
        header().magic = counter_file_magic;
        header().version = counter_file_version;
        header().places = counter_places;
        header().size = bytes.size();
        header().process = ::getpid();
        place() = {section_at, shape.size()};
        CounterSectionHeader& section = this->section();
        section.magic = counter_section_magic;
        section.source = 1;
        section.started_unix_ns = 7;
        section.sequence = 2;
        section.totals = section.row_counters = 1;
        section.row_places = 2;
        section.row_size = static_cast<std::uint32_t>(shape.row_size());
        section.rows = 2;
        std::strcpy(section.details.data(), "address=a b\nno equals sign\n=no key\nnode=1");
        set_entry(0, "wire.sent", CounterKind::counter);
        set_entry(1, "received", CounterKind::gauge);
        total() = 11;
        for (std::size_t row = 0; row < 2; ++row) {
            name_of(row)[0] = static_cast<char>('5' + row);
            value_of(row) = 20 + row;
        }
    }

    CounterFileHeader& header() { return at<CounterFileHeader>(0); }
    CounterPlace& place(std::size_t i = 0) {
        return at<CounterPlace>(sizeof(CounterFileHeader) + i * sizeof(CounterPlace));
    }
    CounterSectionHeader& section() { return at<CounterSectionHeader>(section_at); }
    CounterEntry& entry(std::size_t i) {
        return at<CounterEntry>(section_at + sizeof(CounterSectionHeader) +
                                i * sizeof(CounterEntry));
    }
    void set_entry(std::size_t i, const char* name, CounterKind kind) {
        entry(i) = {};
        std::strcpy(entry(i).name.data(), name);
        std::strcpy(entry(i).unit.data(), "frames");
        entry(i).kind = static_cast<std::uint32_t>(kind);
    }
    std::uint64_t& total() { return at<std::uint64_t>(section_at + shape.totals_at()); }
    char* name_of(std::size_t row) {
        return at<CounterRowHeader>(section_at + shape.row_at(row)).name.data();
    }
    std::uint64_t& value_of(std::size_t row) {
        return at<std::uint64_t>(section_at + shape.row_at(row) + sizeof(CounterRowHeader));
    }

    std::vector<std::byte> bytes;

private:
    template <class Part>
    Part& at(std::size_t offset) {
        return *reinterpret_cast<Part*>(bytes.data() + offset);
    }
};

/// A memory file of this process with these bytes.
class MadeFile {
public:
    explicit MadeFile(const std::vector<std::byte>& bytes, const char* name = counter_file_name)
        : file_(::memfd_create(name, MFD_CLOEXEC)) {
        EXPECT_EQ(::write(file_, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    }
    MadeFile(const MadeFile&) = delete;
    MadeFile& operator=(const MadeFile&) = delete;
    ~MadeFile() { ::close(file_); }

private:
    int file_;
};

}  // namespace wireproof::host::test
