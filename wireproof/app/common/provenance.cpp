#include "wireproof/app/common/provenance.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/utsname.h>

#include <chrono>
#include <fstream>
#include <string_view>
#include <thread>

#include "wireproof/app/common/version.hpp"

namespace wireproof::app {
namespace {

std::string kept_command_line;

bool plain(std::string_view word) {
    constexpr std::string_view safe =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:,=@%+[]";
    return !word.empty() && word.find_first_not_of(safe) == std::string_view::npos;
}

std::string quoted(std::string_view word) {
    if (plain(word)) return std::string(word);
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

std::string processor_name() {
    std::ifstream file("/proc/cpuinfo");
    std::string line;
    while (std::getline(file, line)) {
        const std::size_t colon = line.find(": ");
        if (line.starts_with("model name") && colon != std::string::npos) {
            return line.substr(colon + 2);
        }
    }
    utsname system{};
    return ::uname(&system) == 0 ? system.machine : "unknown";
}

std::string host_name() {
    utsname system{};
    if (::uname(&system) != 0) return "unknown";
    return fmt::format("{} ({} {})", system.nodename, system.sysname, system.release);
}

}  // namespace

void keep_command_line(std::string_view program, const std::vector<std::string>& words) {
    kept_command_line = quoted(program);
    for (const std::string& word : words) kept_command_line += " " + quoted(std::string_view(word));
}

std::vector<std::pair<std::string, std::string>> provenance() {
    const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
    return {{"host", host_name()},
            {"processor",
             fmt::format("{} ({} threads)", processor_name(), std::thread::hardware_concurrency())},
            {"date", fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(now))},
            {"version", version()},
            {"command", kept_command_line}};
}

}  // namespace wireproof::app
