#include "wireproof/app/common/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

namespace wireproof::app {
namespace {

// Does not throw: if the terminal was closed, the program must not fail.
void draw(const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
}

}  // namespace

std::string short_number(double number) {
    constexpr std::array<const char*, 6> prefixes = {"", "k", "M", "G", "T", "P"};
    std::size_t prefix = 0;
    // A number that would be rounded up to 1000 gets the next prefix.
    while (number >= 999.5 && prefix + 1 < prefixes.size()) {
        number /= 1000;
        ++prefix;
    }
    const int decimals = number >= 99.95 || prefix == 0 ? 0 : 1;
    return fmt::format("{:.{}f} {}", number, decimals, prefixes[prefix]);
}

std::string short_time(double seconds) {
    const auto whole = static_cast<std::uint64_t>(std::clamp(std::ceil(seconds), 0.0, 1e9));
    if (whole < 60) return fmt::format("{} s", whole);
    if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
    return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Progress::Progress(std::string what, std::uint64_t total, std::string unit)
    : what_(std::move(what)),
      total_(total),
      unit_(std::move(unit)),
      terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (shown_) draw("\r\033[K");
}

bool Progress::is_time() {
    if (!terminal_) return false;
    const auto now = Clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(100);
    return true;
}

double Progress::seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
}

std::string Progress::rate(std::uint64_t done) const {
    if (unit_.empty() || done == 0) return {};
    // "65 kB/s", but "65 k worlds/s".
    const std::string number = short_number(static_cast<double>(done) / seconds());
    const bool apart = unit_.size() > 1 && number.back() != ' ';
    return fmt::format("  {}{}{}/s", number, apart ? " " : "", unit_);
}

void Progress::show_count(std::uint64_t done) {
    if (!is_time()) return;
    draw(fmt::format("\r{} {}{}{}\033[K", what_, done, rate(done), note()));
    shown_ = true;
}

void Progress::show(std::uint64_t done) {
    if (total_ == 0 || !is_time()) return;
    constexpr std::size_t width = 30;
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    const auto filled = static_cast<std::size_t>(part * width);
    // At the start, the remaining time cannot be estimated yet.
    constexpr double soon = 0.5;
    const double passed = seconds();
    const std::string left =
        part > 0 && passed >= soon ? "  " + short_time(passed * (1 - part) / part) + " left" : "";
    draw(fmt::format("\r{} [{}{}] {:3.0f} %{}{}{}\033[K", what_, std::string(filled, '='),
                     std::string(width - filled, ' '), part * 100, rate(done), left, note()));
    shown_ = true;
}

}  // namespace wireproof::app
