#include <fmt/format.h>

#include "wireproof/cli/describe/completion.hpp"
#include "wireproof/cli/describe/words.hpp"

namespace wireproof::cli {
namespace {

/// The characters that separate the parts of a specification of _arguments, as escapes.
std::string escaped(const std::string& text) {
    std::string all;
    for (const char c : on_one_line(text)) {
        if (c == '[' || c == ']' || c == ':' || c == '\\') all += '\\';
        all += c;
    }
    return all;
}

/// What completes the value, as an action of _arguments.
std::string action_of(const SubcommandText& subcommand, const OptionText& option) {
    if (!option.choices.empty() && option.takes == Takes::file) {
        return fmt::format("_wireproof_{}_names", subcommand.name);
    }
    if (!option.choices.empty()) return "(" + in_one_line(option.choices) + ")";
    switch (option.takes) {
        case Takes::file: return "_files";
        case Takes::folder: return "_files -/";
        case Takes::program: return "_command_names -e";
        case Takes::process: return "_pids";
        case Takes::text: break;
    }
    return " ";
}

/// The specifications of an option, one for each name.
std::string option_specs(const SubcommandText& subcommand, const OptionText& option) {
    const std::vector<std::string> names = all_names(option);
    std::string specs;
    for (const std::string& name : names) {
        // The other names, too, are then no longer offered.
        std::string spec = "(" + in_one_line(names) + ")" + name;
        if (!option.is_flag() && name.starts_with("--")) spec += "=";
        spec += "[" + escaped(option.what) + "]";
        if (!option.is_flag()) {
            spec += ":" + escaped(option.value) + ":" + action_of(subcommand, option);
        }
        specs += " \\\n                " + shell_quoted(spec);
    }
    return specs;
}

std::string operand_spec(const SubcommandText& subcommand, const OptionText& operand) {
    std::string spec = operand.repeated && operand.takes != Takes::program ? "*" : "1";
    if (operand.takes == Takes::program) spec = "(-)1";
    spec += ":" + escaped(operand.value) + ":" + action_of(subcommand, operand);
    std::string specs = " \\\n                " + shell_quoted(spec);
    if (operand.takes == Takes::program) specs += " '*::ARGUMENT:_normal'";
    return specs;
}

std::string zsh_case_of(const SubcommandText& subcommand) {
    std::string specs;
    for (const OptionText& option : subcommand.options) {
        specs +=
            option.operand ? operand_spec(subcommand, option) : option_specs(subcommand, option);
    }
    return fmt::format("        {})\n            _arguments -S -s{} && ret=0 ;;\n", subcommand.name,
                       specs);
}

/// Functions for the operands that are a name or a file.
std::string functions_of(const SubcommandText& subcommand) {
    const OptionText* const operand = operand_of(subcommand);
    if (operand == nullptr || operand->choices.empty() || operand->takes != Takes::file) return {};
    return fmt::format("_wireproof_{}_names() {{\n    _alternative {} 'files:file:_files'\n}}\n\n",
                       subcommand.name,
                       shell_quoted("names:name:(" + in_one_line(operand->choices) + ")"));
}

}  // namespace

std::string zsh_completion(const CommandText& command) {
    std::string text =
        "#compdef wireproof\n"
        "# Completion of wireproof for zsh. Generated from its options: do not edit.\n\n";
    std::string subcommands;
    std::string cases;
    for (const SubcommandText& subcommand : command.subcommands) {
        text += functions_of(subcommand);
        subcommands +=
            "                " + shell_quoted(subcommand.name + ":" + subcommand.what) + "\n";
        cases += zsh_case_of(subcommand);
    }
    std::string options;
    for (const OptionText& option : command.options) {
        for (const std::string& name : all_names(option)) {
            options += " \\\n        " + shell_quoted("(- *)" + name + "[" + option.what + "]");
        }
    }
    return text + fmt::format(R"(_wireproof() {{
    local curcontext=$curcontext state line ret=1
    typeset -A opt_args
    _arguments -C{} \
        '1: :->subcommand' '*::: :->words' && ret=0
    case $state in
        subcommand)
            local -a subcommands=(
{}            )
            _describe -t subcommands subcommand subcommands && ret=0
            return ret ;;
        words) ;;
        *) return ret ;;
    esac
    words=($line[1] $words)
    (( CURRENT += 1 ))
    curcontext=${{curcontext%:*:*}}:wireproof-$line[1]:
    case $line[1] in
{}    esac
    return ret
}}

if [[ $funcstack[1] == _wireproof ]]; then
    _wireproof "$@"
else
    compdef _wireproof wireproof
fi
)",
                              options, subcommands, cases);
}

}  // namespace wireproof::cli
