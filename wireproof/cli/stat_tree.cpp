#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/cli/stat_values.hpp"

namespace wireproof::cli {
namespace {

namespace fs = std::filesystem;

std::string device_folder(pid_t process) {
    return fmt::format("wireproof0_{}", process);
}

[[noreturn]] void fail_to_write(const fs::path& path, const std::string& why) {
    throw app::Failure(fmt::format("cannot write {}: {}", path.string(), why));
}

void make_folder(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) fail_to_write(path, error.message());
}

// An exporter that reads the file during the call sees either the old text or the new text.
void write_line(const fs::path& path, const std::string& line) {
    const fs::path part = path.string() + ".part";
    std::ofstream file(part);
    file << line << '\n';
    file.close();
    std::error_code error = file ? std::error_code() : std::make_error_code(std::errc::io_error);
    if (!error) fs::rename(part, path, error);
    if (error) fail_to_write(path, error.message());
}

/// The counters of a group: "hw_counters.duplicate_request" is the file
/// hw_counters/duplicate_request.
void write_group(const fs::path& folder, const StatOf& device, const std::string& group) {
    make_folder(folder / group);
    const auto& totals = device.counters.totals;
    for (std::size_t i = 0; i < totals.size(); ++i) {
        if (!totals[i].name.starts_with(group + ".")) continue;
        const std::string name = totals[i].name.substr(group.size() + 1);
        if (name.find('.') != name.npos) continue;
        write_line(folder / group / name, std::to_string(device.counters.values[i]));
    }
}

void write_device(const fs::path& folder, const StatOf& device) {
    const fs::path port = folder / "ports" / "1";
    make_folder(port);
    write_line(folder / "hca_type", "wireproof");
    write_line(folder / "node_desc", device.program);
    write_line(port / "state", "4: ACTIVE");
    write_line(port / "phys_state", "5: LinkUp");
    write_line(port / "link_layer", "Ethernet");
    write_line(port / "rate", "10 Gb/sec (1X QDR)");
    write_group(port, device, "counters");
    write_group(port, device, "hw_counters");
}

}  // namespace

void write_counter_tree(const std::string& folder, const std::vector<StatOf>& all) {
    const fs::path devices = fs::path(folder) / "class" / "infiniband";
    make_folder(devices);
    std::set<std::string> there;
    for (const StatOf& one : all) {
        if (!one.is_verbs() || !there.insert(device_folder(one.process)).second) continue;
        write_device(devices / device_folder(one.process), one);
    }
    std::error_code error;
    for (const fs::directory_entry& entry : fs::directory_iterator(devices, error)) {
        const std::string name = entry.path().filename().string();
        if (!name.starts_with("wireproof0_") || there.contains(name)) continue;
        fs::remove_all(entry.path(), error);
        if (error) fail_to_write(entry.path(), error.message());
    }
    if (error) fail_to_write(devices, error.message());
}

}  // namespace wireproof::cli
