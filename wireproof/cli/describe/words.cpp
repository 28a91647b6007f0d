#include "wireproof/cli/describe/words.hpp"

#include <algorithm>

namespace wireproof::cli {

std::string in_one_line(const std::vector<std::string>& words) {
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + word;
    return line;
}

std::string on_one_line(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
}

std::string shell_quoted(const std::string& text) {
    std::string quoted = "'";
    for (const char c : text) {
        if (c == '\'') {
            quoted += "'\\''";
        } else {
            quoted += c;
        }
    }
    return quoted + "'";
}

std::vector<std::string> all_names(const OptionText& option) {
    std::vector<std::string> names = option.names;
    names.insert(names.end(), option.off_names.begin(), option.off_names.end());
    return names;
}

const OptionText* operand_of(const SubcommandText& subcommand) {
    const auto found = std::find_if(subcommand.options.begin(), subcommand.options.end(),
                                    [](const OptionText& option) { return option.operand; });
    return found == subcommand.options.end() ? nullptr : &*found;
}

}  // namespace wireproof::cli
