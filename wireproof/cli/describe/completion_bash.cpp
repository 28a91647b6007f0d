#include <fmt/format.h>

#include "wireproof/cli/describe/completion.hpp"
#include "wireproof/cli/describe/words.hpp"

namespace wireproof::cli {
namespace {

constexpr auto bash_begin =
    R"(# Completion of wireproof for bash. Generated from its options: do not edit.

_wireproof() {
    # bash takes "=" for a word of its own: --wire=shm is three words.
    local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD-1]}
    if [[ $current == = ]]; then
        current=
    elif [[ $option == = ]]; then
        option=${COMP_WORDS[COMP_CWORD-2]}
    fi
    local subcommand= program= i
    for ((i = 1; i < COMP_CWORD; ++i)); do
        if [[ $subcommand && ${COMP_WORDS[i]} == -- ]]; then
            program=$((i + 1))
            break
        fi
        [[ $subcommand || ${COMP_WORDS[i]} == -* ]] || subcommand=${COMP_WORDS[i]}
    done
    # What can stand here: words, and the kind of names (compgen -f: files, -d: folders, -c: programs).
    local options= words= names=
    case $subcommand in
)";

constexpr auto bash_end = R"(    esac
    COMPREPLY=()
    if [[ $program ]]; then
        [[ $names == -c && $COMP_CWORD -eq $program ]] || names=-f
        words=
    elif [[ $current == -* ]]; then
        words=$options
        names=
    elif [[ $names == -c ]]; then
        words+=' --'
    fi
    local found
    [[ $names != -[df] ]] || compopt -o filenames 2>/dev/null
    [[ ! $names ]] || while IFS= read -r found; do
        COMPREPLY+=("$found")
    done < <(compgen $names -- "$current")
    while IFS= read -r found; do
        [[ ! $found ]] || COMPREPLY+=("$found")
    done < <(compgen -W "$words" -- "$current")
}

complete -F _wireproof wireproof
)";

std::string kind_of(const OptionText& option) {
    switch (option.takes) {
        case Takes::file: return "-f";
        case Takes::folder: return "-d";
        case Takes::program: return "-c";
        case Takes::process:
        case Takes::text: break;
    }
    return {};
}

std::string values_of(const OptionText& option) {
    return fmt::format("words={} names={}", shell_quoted(in_one_line(option.choices)),
                       kind_of(option));
}

std::string case_of(const SubcommandText& subcommand) {
    std::vector<std::string> options;
    std::string values;
    for (const OptionText& option : subcommand.options) {
        const std::vector<std::string> names = all_names(option);
        options.insert(options.end(), names.begin(), names.end());
        if (option.operand || option.is_flag()) continue;
        std::string pattern;
        for (const std::string& name : names) pattern += (pattern.empty() ? "" : "|") + name;
        values += fmt::format("                {}) options= {} ;;\n", pattern, values_of(option));
    }
    const OptionText* const operand = operand_of(subcommand);
    return fmt::format(
        "        {})\n            options={}\n            case $option in\n{}"
        "                *) {} ;;\n            esac ;;\n",
        subcommand.name, shell_quoted(in_one_line(options)), values,
        operand == nullptr ? "words= names=" : values_of(*operand));
}

}  // namespace

std::string bash_completion(const CommandText& command) {
    std::vector<std::string> subcommands;
    std::vector<std::string> options;
    for (const OptionText& option : command.options) {
        const std::vector<std::string> names = all_names(option);
        options.insert(options.end(), names.begin(), names.end());
    }
    std::string cases;
    for (const SubcommandText& subcommand : command.subcommands) {
        subcommands.push_back(subcommand.name);
        cases += case_of(subcommand);
    }
    return bash_begin +
           fmt::format("        '') options={} words={} ;;\n", shell_quoted(in_one_line(options)),
                       shell_quoted(in_one_line(subcommands))) +
           cases + bash_end;
}

}  // namespace wireproof::cli
