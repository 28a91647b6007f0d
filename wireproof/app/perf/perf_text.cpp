#include "wireproof/app/perf/perf_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace wireproof::app {

std::string perf_scaled(double value) {
    constexpr std::array prefixes = {"", " k", " M", " G", " T"};
    std::size_t i = 0;
    for (; value >= 999.5 && i + 1 < prefixes.size(); ++i) value /= 1000;
    const int digits = value >= 99.5 ? 0 : value >= 9.95 ? 1 : 2;
    return fmt::format("{:.{}f}{}", value, i == 0 && value == std::floor(value) ? 0 : digits,
                       prefixes[i]);
}

std::string perf_size(std::size_t size) {
    constexpr std::size_t mega = std::size_t{1} << 20;
    if (size >= mega && size % mega == 0) return fmt::format("{} Mi", size / mega);
    if (size >= 1024 && size % 1024 == 0) return fmt::format("{} Ki", size / 1024);
    return fmt::format("{}", size);
}

std::string perf_ns(double value) {
    return value >= 1e6   ? fmt::format("{:.2f} ms", value / 1e6)
           : value >= 1e4 ? fmt::format("{:.1f} us", value / 1e3)
                          : fmt::format("{:.0f} ns", value);
}

double perf_rounded(double value) {
    if (value == 0) return 0;
    const double scale = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
    return std::round(value * scale) / scale;
}

std::string perf_lines(const std::vector<std::vector<std::string>>& lines) {
    std::vector<std::size_t> widths(lines.front().size());
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
            widths[i] = std::max(widths[i], line[i].size());
        }
    }
    std::string text;
    for (const auto& line : lines) {
        for (std::size_t i = 0; i < line.size(); ++i) {
            text += fmt::format("{}{:>{}}", i == 0 ? "" : "  ", line[i], widths[i]);
        }
        text += "\n";
    }
    return text;
}

}  // namespace wireproof::app
