#include <fmt/format.h>

#include "wireproof/cli/describe/completion.hpp"
#include "wireproof/cli/describe/words.hpp"

namespace wireproof::cli {
namespace {

constexpr auto fish_begin =
    R"(# Completion of wireproof for fish. Generated from its options: do not edit.

# Whether the subcommand is this one, and no program of the user's has begun.
function __wireproof_subcommand
    set -l words (commandline -opc)
    test (count $words) -ge 2; and test "$words[2]" = $argv[1]; and not contains -- -- $words
end

# Whether the words after "--" are those of a program.
function __wireproof_has_program
    set -l words (commandline -opc)
    test (count $words) -ge 2; and contains -- "$words[2]" $argv; and contains -- -- $words
end

# Completes them as if they stood alone.
function __wireproof_complete_program
    set -l words (commandline -opc) (commandline -ct)
    set -l dashes (contains -i -- -- $words)
    complete -C (string join ' ' -- (string escape -- $words[(math $dashes + 1)..-2]) $words[-1])
end

complete -c wireproof -f
)";

std::string line_of(const std::string& condition, const std::string& rest) {
    return fmt::format("complete -c wireproof -n {} {}\n", shell_quoted(condition), rest);
}

/// -x: a value that is no file; -r: a value; -F: files, too.
std::string value_of(const OptionText& option) {
    std::string text;
    if (option.takes == Takes::file) {
        text = "-r -F";
    } else if (option.takes == Takes::folder) {
        text = "-x -a '(__fish_complete_directories (commandline -ct))'";
    } else {
        text = "-x";
    }
    if (!option.choices.empty()) text += " -a " + shell_quoted(in_one_line(option.choices));
    return text;
}

std::string option_line(const std::string& condition, const OptionText& option) {
    std::string names;
    for (const std::string& name : all_names(option)) {
        names += name.starts_with("--") ? "-l " + name.substr(2) : "-s " + name.substr(1);
        names += " ";
    }
    return line_of(condition, names + (option.is_flag() ? "" : value_of(option) + " ") + "-d " +
                                  shell_quoted(on_one_line(option.what)));
}

std::string operand_line(const std::string& condition, const OptionText& operand) {
    if (operand.takes == Takes::program) return {};
    std::string text;
    if (operand.takes == Takes::file) text += "-F ";
    if (operand.takes == Takes::process) text += "-a '(__fish_complete_pids)'";
    if (!operand.choices.empty()) text += "-a " + shell_quoted(in_one_line(operand.choices));
    return text.empty() ? text : line_of(condition, text);
}

}  // namespace

std::string fish_completion(const CommandText& command) {
    const std::string no_subcommand = "test (count (commandline -opc)) -eq 1";
    std::string text = fish_begin;
    std::string with_program;
    for (const OptionText& option : command.options) text += option_line(no_subcommand, option);
    for (const SubcommandText& subcommand : command.subcommands) {
        text += line_of(no_subcommand,
                        "-a " + subcommand.name + " -d " + shell_quoted(subcommand.what));
        const std::string condition = "__wireproof_subcommand " + subcommand.name;
        for (const OptionText& option : subcommand.options) {
            text +=
                option.operand ? operand_line(condition, option) : option_line(condition, option);
            if (option.operand && option.takes == Takes::program)
                with_program += " " + subcommand.name;
        }
    }
    return text +
           line_of("__wireproof_has_program" + with_program, "-a '(__wireproof_complete_program)'");
}

}  // namespace wireproof::cli
