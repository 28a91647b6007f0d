// The marks of an axis: round numbers, or powers of ten or of two.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "wireproof/report/plot_svg.hpp"

namespace wireproof::report {
namespace {

std::string shortest(double value) {
    std::array<char, 32> room{};
    const auto end = std::to_chars(room.data(), room.data() + room.size(), value).ptr;
    return {room.data(), end};
}

// Writes a power as "10⁻⁹".
std::string power_of_ten(int power) {
    constexpr std::array<std::string_view, 10> digits = {"⁰", "¹", "²", "³", "⁴",
                                                         "⁵", "⁶", "⁷", "⁸", "⁹"};
    std::string text = "10";
    for (const char c : std::to_string(power)) {
        text += c == '-' ? "⁻" : digits[static_cast<std::size_t>(c - '0')];
    }
    return text;
}

std::string size_text(double value) {
    constexpr std::array<std::pair<double, std::string_view>, 2> units = {
        {{1048576, " Mi"}, {1024, " Ki"}}};
    for (const auto& [size, name] : units) {
        if (value >= size) return shortest(value / size) + std::string(name);
    }
    return shortest(value);
}

std::vector<AxisMark> round_numbers(double from, double to, std::size_t most, bool percent) {
    const double factor = percent ? 100 : 1;
    const double rough = (to - from) * factor / static_cast<double>(most);
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10 * power;
    for (const double times : {1.0, 2.0, 5.0}) {
        if (times * power >= rough * (1 - 1e-9)) {
            step = times * power;
            break;
        }
    }
    std::vector<AxisMark> marks;
    constexpr double nearly = 1e-9;
    const double first = std::ceil(from * factor / step - nearly);
    // The loop counts, because in a range as small as the rounding error, adding a step may not
    // change the value.
    for (std::size_t count = 0; count <= 2 * most; ++count) {
        const double i = first + static_cast<double>(count);  // 0 for both -0 and 0
        if (i * step > to * factor + nearly * step) break;
        // Computed from a whole number of steps: a sum of steps would leave rounding errors in the
        // digits.
        const double decimals = std::max(0.0, -std::floor(std::log10(step)));
        const double scale = std::pow(10.0, decimals);
        const double shown = std::round(i * step * scale) / scale;
        marks.push_back({shown / factor, shortest(shown) + (percent ? " %" : "")});
    }
    return marks;
}

template <class Name>
std::vector<AxisMark> powers(double base, double from, double to, std::size_t most, Name&& name) {
    constexpr double nearly = 1e-9;
    const int low = static_cast<int>(std::ceil(std::log(from) / std::log(base) - nearly));
    const int high = static_cast<int>(std::floor(std::log(to) / std::log(base) + nearly));
    const int step =
        std::max(1, (high - low + static_cast<int>(most) - 1) / static_cast<int>(most));
    std::vector<AxisMark> marks;
    for (int power = low; power <= high; power += step) {
        marks.push_back({std::pow(base, power), name(power)});
    }
    return marks;
}

void add_multiples(std::vector<AxisMark>& marks, std::initializer_list<int> digits, double from,
                   double to) {
    for (int power = static_cast<int>(std::floor(std::log10(from)));; ++power) {
        for (const int digit : digits) {
            const double value = digit * std::pow(10.0, power);
            if (value > to) return;
            if (value < from) continue;
            marks.push_back({value, std::to_string(digit) + "·" + power_of_ten(power)});
        }
    }
}

std::vector<AxisMark> decades(double from, double to, std::size_t most) {
    const std::vector<AxisMark> tens = powers(10, from, to, most, power_of_ten);
    if (tens.size() > 2 || to / from > 1000) return tens;
    for (const auto& digits : {std::initializer_list<int>{2, 5}, {2, 3, 4, 5, 6, 7, 8, 9}}) {
        std::vector<AxisMark> marks = tens;
        add_multiples(marks, digits, from, to);
        if (marks.size() >= 2) return marks;
    }
    constexpr std::size_t enough = 5;  // rounding the step up may leave only two of these
    return round_numbers(from, to, std::max(most, enough), false);
}

}  // namespace

std::vector<AxisMark> axis_marks(AxisScale scale, double from, double to, std::size_t most) {
    switch (scale) {
        case AxisScale::plain: return round_numbers(from, to, most, false);
        case AxisScale::percent: return round_numbers(from, to, most, true);
        case AxisScale::decades: return decades(from, to, most);
        case AxisScale::sizes:
            return powers(2, from, to, most, [](int power) { return size_text(std::exp2(power)); });
    }
    return {};
}

}  // namespace wireproof::report
