#include "wireproof/cli/describe/mdoc.hpp"

#include <cctype>
#include <cstddef>
#include <sstream>
#include <vector>

namespace wireproof::cli {
namespace {

constexpr std::size_t line_max = 78;

bool ends_sentence(std::string_view word) {
    if (word.ends_with(')')) word.remove_suffix(1);
    return word.ends_with('.') || word.ends_with('?') || word.ends_with('!');
}

// A line that begins so would be a request of roff.
std::string protected_line(const std::string& line) {
    return line.starts_with('.') || line.starts_with('\'') ? "\\&" + line : line;
}

}  // namespace

std::string mdoc_escaped(std::string_view text) {
    std::string all;
    for (const char c : text) {
        switch (c) {
            case '\\': all += "\\e"; break;
            case '-': all += "\\-"; break;  // else copied from the page as a hyphen
            case '\'': all += "\\(aq"; break;
            case '`': all += "\\(ga"; break;
            case '^': all += "\\(ha"; break;
            case '~': all += "\\(ti"; break;
            default: all += c;
        }
    }
    return all;
}

std::string mdoc_text(std::string_view text) {
    std::istringstream words{std::string(text)};
    std::string all;
    std::string line;
    const auto end_line = [&] {
        if (!line.empty()) all += protected_line(line) + "\n";
        line.clear();
    };
    for (std::string word; words >> word;) {
        const std::string escaped = mdoc_escaped(word);
        if (line.size() + 1 + escaped.size() > line_max) end_line();
        line += (line.empty() ? "" : " ") + escaped;
        if (ends_sentence(word)) end_line();
    }
    end_line();
    return all;
}

std::string mdoc_literal(std::string_view line) {
    return protected_line(mdoc_escaped(line)) + "\n";
}

std::string mdoc_sentence(const std::string& text) {
    std::string sentence = text;
    const std::size_t word = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz'");
    // "pcie: bytes around the data" and "udp, shm: two processes" begin with names.
    if (word != text.npos && word > 0 && text[word] == ' ') {
        sentence[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    }
    if (!ends_sentence(sentence)) sentence += ".";
    return sentence;
}

}  // namespace wireproof::cli
