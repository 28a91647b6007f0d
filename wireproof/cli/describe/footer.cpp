#include "wireproof/cli/describe/footer.hpp"

#include <cstddef>
#include <sstream>
#include <stdexcept>

namespace wireproof::cli {
namespace {

constexpr std::string_view exit_words = "Exit code ";

std::vector<std::vector<std::string>> paragraphs_of(std::string_view text) {
    std::istringstream lines{std::string(text)};
    std::vector<std::vector<std::string>> all(1);
    for (std::string line; std::getline(lines, line);) {
        if (!line.empty()) {
            all.back().push_back(line);
        } else if (!all.back().empty()) {
            all.emplace_back();
        }
    }
    if (all.back().empty()) all.pop_back();
    return all;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const std::string& line : lines) text += (text.empty() ? "" : " ") + line;
    return text;
}

Example example_of(const std::string& line) {
    const std::string text = line.substr(line.find_first_not_of(' '));
    const std::size_t gap = text.find("   ");
    // A note may also stand two spaces behind a command that leaves no more room.
    if (gap == text.npos) return {text, {}};
    return {text.substr(0, gap), text.substr(text.find_first_not_of(' ', gap))};
}

/// The end of "0" in "0: done", of "else" in "else: …"; 0 if the text does not begin so.
std::size_t code_size(std::string_view text) {
    const std::size_t end = text.find(": ");
    if (end == text.npos) return 0;
    const std::string_view code = text.substr(0, end);
    const bool is_number = code.find_first_not_of("0123456789") == code.npos;
    return is_number || code == "else" ? end : 0;
}

std::vector<ExitCode> codes_of(std::string text) {
    if (text.ends_with('.')) text.pop_back();
    std::vector<ExitCode> codes;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = text.find("; ", at);
        while (end != text.npos && code_size(text.substr(end + 2)) == 0) {
            end = text.find("; ", end + 2);
        }
        const std::string one = text.substr(at, end == text.npos ? end : end - at);
        const std::size_t size = code_size(one);
        if (size == 0) return {};
        codes.push_back({one.substr(0, size), one.substr(size + 2)});
        at = end == text.npos ? text.size() : end + 2;
    }
    return codes;
}

}  // namespace

FooterText parse_footer(std::string_view subcommand, std::string_view footer) {
    FooterText text;
    for (const std::vector<std::string>& lines : paragraphs_of(footer)) {
        if (lines.front() == "Examples:") {
            for (std::size_t i = 1; i < lines.size(); ++i) {
                text.examples.push_back(example_of(lines[i]));
            }
        } else if (lines.front().starts_with(exit_words)) {
            text.codes = codes_of(joined(lines).substr(exit_words.size()));
        } else {
            text.paragraphs.push_back(joined(lines));
        }
    }
    const std::string name(subcommand);
    if (text.examples.empty()) throw std::runtime_error(name + ": the footer has no examples");
    if (text.codes.empty()) throw std::runtime_error(name + ": the footer has no exit codes");
    return text;
}

}  // namespace wireproof::cli
