#include "wireproof/cli/help.hpp"

#include <sstream>

#include "wireproof/cli/names.hpp"
#include "wireproof/cli/option_text.hpp"

namespace wireproof::cli {
namespace {

constexpr std::size_t left_columns = 30;
constexpr std::size_t right_columns = 50;
// A list of more choices would hide the other options. Completion and the manual page have them.
constexpr std::size_t choices_max = 16;

std::string wrapped_lines(const std::string& text) {
    std::istringstream lines(text);
    std::string all;
    for (std::string line; std::getline(lines, line);) {
        all += (all.empty() ? "" : "\n") + wrapped(line, right_columns);
    }
    return all;
}

}  // namespace

HelpText::HelpText() {
    column_width(left_columns);
    label("Positionals", "Operands");
}

std::string HelpText::make_option(const CLI::Option* option, bool is_operand) const {
    const OptionText text = text_of(*option);
    std::string left;
    for (const auto& names : {text.names, text.off_names}) {
        for (const std::string& name : names) left += (left.empty() ? "" : ",") + name;
    }
    if (!text.value.empty()) left += (is_operand ? "" : " ") + text.value;
    if (text.repeated) left += "...";
    if (text.required) left += " REQUIRED";
    std::ostringstream out;
    CLI::detail::format_help(out, left, wrapped_lines(whole_text(text, choices_max)), left_columns);
    return out.str();
}

}  // namespace wireproof::cli
