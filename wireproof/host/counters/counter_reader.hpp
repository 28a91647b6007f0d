// Reads the counters that other processes publish. Such a process may write anything into its file
// at any time, so everything that is read is checked and bounded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "wireproof/host/counters/layout.hpp"

namespace wireproof::host {

/// "key=value" lines, in their order. Values may have any bytes except a newline.
using CounterDetails = std::vector<std::pair<std::string, std::string>>;

struct PublishedCounter {
    std::string name;
    std::string unit;
    CounterKind kind = CounterKind::counter;
};

struct PublishedRow {
    std::string name;
    CounterDetails details;
    std::vector<std::uint64_t> values;  // of PublishedSection::row_counters
};

/// The counters of one Endpoint or device.
struct PublishedSection {
    CounterSource source = CounterSource::endpoint;
    std::uint64_t started_unix_ns = 0;
    std::uint64_t updated_ns = 0;  // when the values were copied, on CLOCK_MONOTONIC
    std::uint64_t age_ns = 0;      // since then
    /// False: the owner was writing whenever the reader looked, or it was stopped while it wrote.
    /// The values may then be of two moments.
    bool is_consistent = true;
    CounterDetails details;
    std::vector<PublishedCounter> totals;
    std::vector<std::uint64_t> values;  // of `totals`
    std::vector<PublishedCounter> row_counters;
    std::vector<PublishedRow> rows;
    std::uint64_t rows_missing = 0;
};

struct PublishedProcess {
    enum class Access : std::uint8_t { granted, refused, no_process };
    pid_t process = 0;
    Access access = Access::granted;
    std::string program;  // the name that ps shows; any bytes
    std::vector<PublishedSection> sections;
    std::uint64_t unpublished = 0;  // Endpoints and devices for which there was no room
    /// One for each file or section that was skipped: "descriptor 5: not a file of counters".
    std::vector<std::string> skipped;
};

PublishedProcess read_counters(pid_t process);

/// The processes that publish counters and into which the caller may look, in ascending order. Also
/// those of which everything was skipped.
std::vector<PublishedProcess> read_all_counters();

}  // namespace wireproof::host
