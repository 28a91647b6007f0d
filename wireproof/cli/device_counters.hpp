// The counters that the verbs device of another process shows, and a tree of files of them.
#pragma once

#include <nlohmann/json.hpp>
#include <sys/types.h>

#include <string>
#include <vector>

namespace wireproof::cli {

/// One process that has a device. Its text is as untrusted as the process.
struct DeviceCounters {
    pid_t process = 0;
    nlohmann::ordered_json values;  // "a.b.c 5" is values["a"]["b"]["c"] == 5
};

/// Lines without a name and a value are left out.
nlohmann::ordered_json read_counters(const std::string& text);

/// Of all processes that may be looked into and have one, in ascending order.
std::vector<DeviceCounters> all_device_counters();
/// Throws Failure where the process shows none.
DeviceCounters device_counters(pid_t process);

/// For a person, at most 80 columns. Counters that are 0 are left out.
std::string text_of(const DeviceCounters& counters);

/// Files as under /sys for devices of the kernel: FOLDER/class/infiniband/wireproof0_PID/ports/1/….
/// What an earlier call wrote of processes that are not in `all` is removed. Throws Failure.
void write_counter_tree(const std::string& folder, const std::vector<DeviceCounters>& all);

}  // namespace wireproof::cli
