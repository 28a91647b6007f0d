#include "wireproof/cli/names.hpp"

namespace wireproof::cli {

std::string either_of(const std::vector<std::string>& names) {
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
        text += names[i];
    }
    return text;
}

std::string wrapped(std::string_view text, std::size_t columns) {
    std::string lines;
    while (text.size() > columns) {
        const std::size_t space = text.rfind(' ', columns);
        const bool breaks = space != std::string_view::npos;
        const std::size_t end = breaks ? space : columns;
        lines += std::string(text.substr(0, end)) + "\n";
        text = text.substr(end + (breaks ? 1 : 0));
    }
    return lines + std::string(text);
}

}  // namespace wireproof::cli
