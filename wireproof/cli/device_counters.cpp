#include "wireproof/cli/device_counters.hpp"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/front/verbs/counters_name.hpp"
#include "wireproof/host/published_text.hpp"

namespace wireproof::cli {
namespace {

using CountersJson = nlohmann::ordered_json;
namespace fs = std::filesystem;

CountersJson counter_value(const std::string& text) {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, number);
    if (error == std::errc() && stopped == end) return number;
    return one_line(text);
}

std::string string_at(const CountersJson& values, const char* part, const char* name) {
    const auto found = values.find(part);
    if (found == values.end() || !found->is_object()) return "?";
    const auto value = found->find(name);
    if (value == found->end()) return "?";
    return value->is_string() ? value->get<std::string>() : value->dump();
}

/// The counters that are not 0, each as "name value", two in a line.
std::string nonzero_lines(const CountersJson& part) {
    std::string text;
    bool right = false;
    for (const auto& [name, value] : part.items()) {
        if (!value.is_number_unsigned() || value == 0U) continue;
        const std::string one = fmt::format("{:<25} {:>11}", shortened(name, 25), value.dump());
        text += right ? "  " + one + "\n" : "  " + one;
        right = !right;
    }
    return right ? text + "\n" : text;
}

std::string queue_pair_text(const std::string& number, const CountersJson& pair) {
    const auto word = [&pair](const char* name) {
        const auto found = pair.find(name);
        if (found == pair.end()) return std::string("?");
        return found->is_string() ? found->get<std::string>() : found->dump();
    };
    std::string text =
        fmt::format("queue pair {}  {} {}", number, word("transport"), word("state"));
    if (pair.contains("peer")) {
        text += fmt::format("  to {} of {}", word("peer_queue_pair"), word("peer"));
    }
    CountersJson counts = pair;
    counts.erase("peer_queue_pair");
    return shortened(text, 80) + "\n" + nonzero_lines(counts);
}

std::string device_folder(pid_t process) {
    return fmt::format("wireproof0_{}", process);
}

[[noreturn]] void fail_to_write(const fs::path& path, const std::string& why) {
    throw Failure(fmt::format("cannot write {}: {}", path.string(), why));
}

// An exporter that reads the file during the call sees either the old text or the new text.
void write_whole(const fs::path& path, const std::string& text) {
    const fs::path part = path.string() + ".part";
    std::ofstream file(part);
    file << text << '\n';
    file.close();
    std::error_code error = file ? std::error_code() : std::make_error_code(std::errc::io_error);
    if (!error) fs::rename(part, path, error);
    if (error) fail_to_write(path, error.message());
}

bool is_file_name(const std::string& name) {
    return !name.empty() &&
           name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == std::string::npos;
}

void make_folder(const fs::path& path) {
    std::error_code error;
    fs::create_directories(path, error);
    if (error) fail_to_write(path, error.message());
}

void write_numbers(const fs::path& folder, const CountersJson& values, const char* part) {
    const auto found = values.find(part);
    if (found == values.end() || !found->is_object()) return;
    make_folder(folder / part);
    for (const auto& [name, value] : found->items()) {
        if (is_file_name(name) && value.is_number_unsigned()) {
            write_whole(folder / part / name, value.dump());
        }
    }
}

void write_device(const fs::path& folder, const CountersJson& values) {
    const fs::path port = folder / "ports" / "1";
    make_folder(port);
    write_whole(folder / "hca_type", "wireproof");
    write_whole(folder / "node_desc", string_at(values, "device", "program"));
    write_whole(port / "state", "4: ACTIVE");
    write_whole(port / "phys_state", "5: LinkUp");
    write_whole(port / "link_layer", "Ethernet");
    write_whole(port / "rate", "10 Gb/sec (1X QDR)");
    write_numbers(port, values, "counters");
    write_numbers(port, values, "hw_counters");
}

}  // namespace

nlohmann::ordered_json read_counters(const std::string& text) {
    CountersJson values = CountersJson::object();
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.find(' ');
        if (space == std::string::npos || space == 0) continue;
        std::istringstream parts(line.substr(0, space));
        CountersJson* at = &values;
        for (std::string part; at->is_object() && std::getline(parts, part, '.');) {
            at = &(*at)[one_line(part)];
            if (at->is_null() && !parts.eof()) *at = CountersJson::object();
        }
        if (at->is_null()) *at = counter_value(line.substr(space + 1));
    }
    return values;
}

std::vector<DeviceCounters> all_device_counters() {
    std::vector<DeviceCounters> all;
    for (const pid_t process : host::processes_with_published(verbs::counters_name)) {
        for (const auto& text : host::read_published(process, verbs::counters_name)) {
            all.push_back({process, read_counters(text)});
        }
    }
    return all;
}

DeviceCounters device_counters(pid_t process) {
    const auto texts = host::read_published(process, verbs::counters_name);
    if (!texts.empty()) return {process, read_counters(texts.front())};
    throw Failure(fmt::format(
        "process {} shows no counters: there is none, it has not opened the device, or it is "
        "another user's",
        process));
}

std::string text_of(const DeviceCounters& counters) {
    const CountersJson& values = counters.values;
    std::string text = shortened(
        fmt::format("process {}  {}  {} at {}  {} queue pairs", counters.process,
                    string_at(values, "device", "program"), string_at(values, "device", "name"),
                    string_at(values, "device", "address"),
                    string_at(values, "device", "queue_pairs")),
        80);
    text += "\n";
    for (const char* part : {"counters", "hw_counters", "wire", "port"}) {
        const auto found = values.find(part);
        if (found != values.end() && found->is_object()) text += nonzero_lines(*found);
    }
    const auto pairs = values.find("queue_pairs");
    if (pairs == values.end() || !pairs->is_object()) return text;
    for (const auto& [number, pair] : pairs->items()) {
        if (!pair.is_object()) continue;
        // Queue pair 1 manages connections. It is of interest only after a request for a
        // connection.
        const bool silent =
            number == "1" && pair.value("executed", 0) == 0 && pair.value("sent", 0) == 0;
        if (!silent) text += queue_pair_text(number, pair);
    }
    return text;
}

void write_counter_tree(const std::string& folder, const std::vector<DeviceCounters>& all) {
    const fs::path devices = fs::path(folder) / "class" / "infiniband";
    make_folder(devices);
    std::set<std::string> there;
    for (const DeviceCounters& one : all) {
        there.insert(device_folder(one.process));
        write_device(devices / device_folder(one.process), one.values);
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
