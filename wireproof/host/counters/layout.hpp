// The bytes of the file in which a process publishes its counters. docs/reference/counters.md has
// them as a table. All numbers have the byte order of the host.
//
// The file is a header, a table of places, and sections. A section has the counters of one Endpoint
// or one device: a header, the names of its counters, the values that are for the whole of it, and
// a row of values for each peer or queue pair.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace wireproof::host {

/// The name of the memory file. /proc/PID/fd shows it as "/memfd:wireproof-counters (deleted)".
inline constexpr const char* counter_file_name = "wireproof-counters";

inline constexpr std::uint64_t counter_file_magic = 0x31746e63'66707277;     // "wrpfcnt1"
inline constexpr std::uint64_t counter_section_magic = 0x31636573'66707277;  // "wrpfsec1"
inline constexpr std::uint32_t counter_file_version = 1;

/// What a section describes.
enum class CounterSource : std::uint32_t { endpoint = 1, ib_device = 2, verbs_device = 3 };
/// A counter only grows. A gauge also falls.
enum class CounterKind : std::uint32_t { counter = 1, gauge = 2 };

struct CounterFileHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t places;       // entries in the table that follows the header
    std::uint64_t size;         // of the file in bytes
    std::int64_t process;       // the owner's number, in the owner's namespace of processes
    std::uint64_t unpublished;  // Endpoints and devices for which there was no room
    std::array<std::uint64_t, 3> reserved;
};
static_assert(sizeof(CounterFileHeader) == 64);

/// A free place has an offset of 0.
struct CounterPlace {
    std::uint64_t offset;  // of the section in the file
    std::uint64_t size;    // of the section in bytes
};
static_assert(sizeof(CounterPlace) == 16);

struct CounterSectionHeader {
    std::uint64_t magic;
    std::uint32_t source;
    std::uint32_t reserved;
    std::uint64_t started_unix_ns;  // when the section was made, since 1970
    std::uint64_t started_ns;       // the same on CLOCK_MONOTONIC
    std::uint64_t updated_ns;       // when the values were copied, on CLOCK_MONOTONIC
    std::uint64_t sequence;         // odd: the owner is writing
    std::uint32_t totals;           // counters of the whole section
    std::uint32_t row_counters;     // counters of each row
    std::uint32_t row_places;       // rows for which there is room
    std::uint32_t row_size;         // bytes
    std::uint64_t rows;             // rows that are in use; they are the first ones
    std::uint64_t rows_missing;     // peers or queue pairs for which there is no row
    std::array<std::uint64_t, 6> more_reserved;
    std::array<char, 384> details;  // lines "key=value"; unused bytes are 0
};
static_assert(sizeof(CounterSectionHeader) == 512);

/// The names of the counters follow the header of the section: those of the whole section, then
/// those of each row.
struct CounterEntry {
    std::array<char, 44> name;  // unused bytes are 0
    std::uint32_t kind;
    std::array<char, 16> unit;  // of one count: "frames"
};
static_assert(sizeof(CounterEntry) == 64);

/// The values of the row follow.
struct CounterRowHeader {
    std::array<char, 32> name;
    std::array<char, 192> details;  // lines "key=value"
};
static_assert(sizeof(CounterRowHeader) == 224);

/// Positions in a section.
struct CounterSectionShape {
    std::size_t totals = 0;
    std::size_t row_counters = 0;
    std::size_t row_places = 0;

    constexpr std::size_t row_size() const {
        return sizeof(CounterRowHeader) + row_counters * sizeof(std::uint64_t);
    }
    constexpr std::size_t totals_at() const {
        return sizeof(CounterSectionHeader) + (totals + row_counters) * sizeof(CounterEntry);
    }
    constexpr std::size_t row_at(std::size_t row) const {
        return totals_at() + totals * sizeof(std::uint64_t) + row * row_size();
    }
    constexpr std::size_t size() const { return row_at(row_places); }
};

// Limits, which also bound what a reader takes from a file.
inline constexpr std::size_t counter_places = 1024;
inline constexpr std::size_t counter_file_size_max = std::size_t{64} << 20;
inline constexpr std::size_t counters_max = 256;  // of a section or of a row
inline constexpr std::size_t counter_rows_max = 1024;

}  // namespace wireproof::host
