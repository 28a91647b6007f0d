#include "wireproof/cli/config_toml.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"

namespace wireproof::cli {
namespace {

using Values = nlohmann::json;

/// Whether TOML reads the text as the same number: its numbers have digits on both sides of the
/// point, no leading zeros, and whole ones are less than 2^63.
bool is_toml_number(std::string_view text) {
    const std::size_t exponent = std::min(text.find_first_of("eE"), text.size());
    const std::string_view mantissa = text.substr(0, exponent);
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    const std::string_view whole = mantissa.substr(0, point);
    if (!all_digits(whole) || (whole.size() > 1 && whole.front() == '0')) return false;
    if (point < mantissa.size() && !all_digits(mantissa.substr(point + 1))) return false;
    if (exponent < text.size()) {
        std::string_view power = text.substr(exponent + 1);
        if (power.starts_with('+') || power.starts_with('-')) power.remove_prefix(1);
        return all_digits(power);
    }
    std::int64_t value = 0;
    return point < mantissa.size() ||
           std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc();
}

/// A string of JSON is one of TOML, but TOML also writes the character 127 as an escape.
std::string quoted(const std::string& text, Values::error_handler_t at_bad_bytes) {
    std::string all = Values(text).dump(-1, ' ', false, at_bad_bytes);
    for (std::size_t at = 0; (at = all.find('\x7f', at)) != all.npos;) {
        all.replace(at, 1, "\\u007F");
    }
    return all;
}

std::string toml_value(const OptionText& option, const std::string& text) {
    constexpr std::array<std::string_view, 6> of_numbers = {"BYTES", "N", "NS", "P", "R", "S"};
    const bool wants_number =
        std::find(of_numbers.begin(), of_numbers.end(), option.value) != of_numbers.end();
    if (option.is_flag() || (wants_number && is_toml_number(text))) return text;
    try {
        return quoted(text, Values::error_handler_t::strict);
    } catch (const Values::exception&) {
        refuse_usage(fmt::format("--{}: its value is not UTF-8, and TOML takes no other text",
                                 option.key()));
    }
}

std::string in_comment(const std::string& text) {
    const std::string safe = quoted(text, Values::error_handler_t::replace);
    return safe.substr(1, safe.size() - 2);
}

}  // namespace

std::string toml_head(const std::string& subcommand) {
    return fmt::format(
        "# Options of wireproof {} and where each value is from. Lines that begin with #\n"
        "# are not needed: they show defaults, and options without a value.\n",
        subcommand);
}

std::string toml_unset(const OptionText& option) {
    return fmt::format("# {} is not set\n", option.key());
}

std::string toml_line(const OptionText& option, const std::string& text, const std::string& note) {
    return fmt::format("{} = {}  # {}\n", option.key(), toml_value(option, text), in_comment(note));
}

std::string toml_comment(const OptionText& option, const std::string& text,
                         const std::string& note) {
    return "# " + toml_line(option, text, note);
}

}  // namespace wireproof::cli
