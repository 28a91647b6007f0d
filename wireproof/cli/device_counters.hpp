// Reads the counters that the verbs devices of other processes publish, and writes them as a tree
// of files.
#pragma once

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <string>
#include <vector>

namespace wireproof::cli {

/// The counters of one process with a device. Other processes are not trusted, so their text is not
/// either.
struct DeviceCounters {
    pid_t process = 0;
    nlohmann::ordered_json values;  // "a.b.c 5" is values["a"]["b"]["c"] == 5
};

/// Ignores lines that have no name or no value.
nlohmann::ordered_json read_counters(const std::string& text);

/// The counters of all processes that publish them and that this user may read, in ascending order.
std::vector<DeviceCounters> all_device_counters();
/// Throws Failure if the process publishes no counters.
DeviceCounters device_counters(pid_t process);

/// Text for a person, at most 80 columns wide, without the counters that are 0.
std::string text_of(const DeviceCounters& counters);

/// Writes files like those of the kernel's devices under /sys:
/// FOLDER/class/infiniband/wireproof0_PID/ports/1/…. Removes the files that an earlier call wrote
/// for processes that are not in `all`. Throws Failure.
void write_counter_tree(const std::string& folder, const std::vector<DeviceCounters>& all);

}  // namespace wireproof::cli
