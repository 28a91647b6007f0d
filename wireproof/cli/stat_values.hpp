// The counters that other processes publish, and what `wireproof stat` prints of them. Other
// processes are not trusted, so their texts are made safe first.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/host/counters/counter_reader.hpp"

namespace wireproof::cli {

/// The counters of one Endpoint or device.
struct StatOf {
    pid_t process = 0;
    std::string program;
    host::PublishedSection counters;

    bool is_endpoint() const { return counters.source == host::CounterSource::endpoint; }
    bool is_verbs() const { return counters.source == host::CounterSource::verbs_device; }
    /// A detail of the whole Endpoint or device; "?" if there is none.
    std::string detail(std::string_view key) const;
};

std::string detail_of(const host::CounterDetails& details, std::string_view key);

/// Those of all processes that publish some and into which this user may look, or of the given
/// processes. Tells in a line what it skips. Throws Failure if a given process shows none.
std::vector<StatOf> read_stats(const std::vector<int>& processes);

/// One JSON object of the schema wireproof.stat/2, with a newline.
std::string stat_json(const std::vector<StatOf>& all);

/// Text for a person, at most 80 columns wide, without the counters that are 0.
std::string stat_text(const std::vector<StatOf>& all);
/// The same with the growth of each counter in a second since `before`.
std::string stat_rates(const std::vector<StatOf>& all, const std::vector<StatOf>& before);

/// The text exposition format of Prometheus (version 0.0.4).
std::string stat_exposition(const std::vector<StatOf>& all);

/// Writes files like those of the kernel's devices under /sys, for each verbs device:
/// FOLDER/class/infiniband/wireproof0_PID/ports/1/…. Removes the files that an earlier call wrote
/// for processes that are not in `all`. Throws Failure.
void write_counter_tree(const std::string& folder, const std::vector<StatOf>& all);

}  // namespace wireproof::cli
