#include "wireproof/app/common/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

namespace wireproof::app {
namespace {

// In UTF-8, all bytes of a character after the first are 10xxxxxx.
bool begins_character(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80;
}

}  // namespace

std::string one_line(std::string text) {
    for (char& c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < ' ' || byte == 0x7F) c = '?';
    }
    return text;
}

std::string shortened(const std::string& text, std::size_t width) {
    std::size_t characters = 0;
    std::size_t kept_from = text.size();  // start of the last width - 1 characters
    for (std::size_t at = text.size(); at-- > 0;) {
        if (!begins_character(text[at])) continue;
        if (++characters < width) kept_from = at;
    }
    return characters <= width ? text : "…" + text.substr(kept_from);
}

std::string grouped(std::string digits, std::string_view between) {
    for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, between);
    return digits;
}

std::string percent(std::optional<double> value, int decimals, std::string_view none) {
    return value ? fmt::format("{:.{}f}", *value * 100, decimals) : std::string(none);
}

std::string printable(ConstBytes bytes) {
    constexpr std::size_t characters_max = 400;
    std::string text;
    for (const std::byte byte : bytes.first(std::min(bytes.size(), characters_max))) {
        const auto c = std::to_integer<char>(byte);
        text += c >= ' ' && c <= '~' ? c : ' ';
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

void tell(const std::string& line) {
    std::fputs((one_line(line) + "\n").c_str(), stderr);
}

}  // namespace wireproof::app
