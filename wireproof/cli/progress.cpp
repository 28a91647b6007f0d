#include "wireproof/cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace wireproof::cli {
namespace {

// Does not throw: a terminal that was closed on us is no reason to fail.
void draw(const std::string& text) {
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
}

}  // namespace

Progress::Progress(std::string what, std::uint64_t total)
    : what_(std::move(what)), total_(total), terminal_(isatty(STDERR_FILENO) == 1) {}

Progress::~Progress() {
    if (shown_) draw("\r\033[K");
}

bool Progress::is_time() {
    if (!terminal_) return false;
    const auto now = std::chrono::steady_clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(100);
    return true;
}

void Progress::show_count(std::uint64_t done) {
    if (!is_time()) return;
    draw(fmt::format("\r{} {}\033[K", what_, done));
    shown_ = true;
}

void Progress::show(std::uint64_t done) {
    if (total_ == 0 || !is_time()) return;
    constexpr std::size_t width = 40;
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    const auto filled = static_cast<std::size_t>(part * width);
    draw(fmt::format("\r{} [{}{}] {:3.0f} %\033[K", what_, std::string(filled, '='),
                     std::string(width - filled, ' '), part * 100));
    shown_ = true;
}

}  // namespace wireproof::cli
