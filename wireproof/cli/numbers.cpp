#include "wireproof/cli/numbers.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <charconv>
#include <limits>

namespace wireproof::cli {

bool all_digits(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

namespace {

std::optional<std::uint64_t> times_ten(std::uint64_t value) {
    if (value > std::numeric_limits<std::uint64_t>::max() / 10) return std::nullopt;
    return value * 10;
}

std::optional<std::uint64_t> digits_value(std::string_view digits) {
    std::uint64_t value = 0;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || stop != digits.data() + digits.size()) return std::nullopt;
    return value;
}

/// The exponent after 'e' or 'E', or 0 if there is none.
std::optional<std::size_t> exponent_of(std::string_view text) {
    if (text.empty()) return 0;
    text.remove_prefix(1);
    if (text.starts_with('+')) text.remove_prefix(1);
    if (!all_digits(text) || text.size() > 3) return std::nullopt;
    const auto value = digits_value(text);
    if (!value) return std::nullopt;
    return static_cast<std::size_t>(*value);
}

std::optional<double> parse_real(std::string_view text) {
    double number{};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
    return number;
}

template <class Number, class Parse>
void accept(CLI::Option& option, Number least, Number most, Parse parse) {
    // Help, manual pages and completion read the limits from the description.
    std::string limits = fmt::format("{} to {}", least, most);
    if constexpr (std::is_integral_v<Number>) {
        if (most == std::numeric_limits<Number>::max())
            limits = fmt::format("{} to 2^64 - 1", least);
    }
    option.transform(CLI::Validator(
        [least, most, parse](std::string& text) {
            const auto number = parse(text);
            // NaN is in no range.
            if (!number || !(*number >= least && *number <= most)) {
                return fmt::format("{} is not a {}number from {} to {}", text,
                                   std::is_integral_v<Number> ? "whole " : "", least, most);
            }
            // CLI11 does not accept an exponent in a whole number, and it reads 010 as 8.
            if constexpr (std::is_integral_v<Number>) text = fmt::format("{}", *number);
            return std::string();
        },
        limits));
}

}  // namespace

std::optional<std::uint64_t> parse_whole(std::string_view text) {
    const std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
    const auto exponent = exponent_of(text.substr(mantissa.size()));
    const std::string_view whole = mantissa.substr(0, mantissa.find('.'));
    std::string_view fraction = mantissa.substr(whole.size());
    if (!exponent || !all_digits(whole)) return std::nullopt;
    if (!fraction.empty()) {
        fraction.remove_prefix(1);
        if (!all_digits(fraction)) return std::nullopt;
        fraction = fraction.substr(0, fraction.find_last_not_of('0') + 1);
    }
    if (fraction.size() > *exponent) return std::nullopt;
    auto value = digits_value(std::string(whole) + std::string(fraction));
    for (std::size_t i = fraction.size(); value && *value != 0 && i < *exponent; ++i) {
        value = times_ten(*value);
    }
    return value;
}

void accept_range(CLI::Option& option, double least, double most) {
    accept(option, least, most, parse_real);
}

void accept_whole(CLI::Option& option, std::uint64_t least, std::uint64_t most) {
    accept(option, least, most, parse_whole);
}

}  // namespace wireproof::cli
