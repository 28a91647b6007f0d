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
    local verb= program= i
    for ((i = 1; i < COMP_CWORD; ++i)); do
        if [[ $verb && ${COMP_WORDS[i]} == -- ]]; then
            program=$((i + 1))
            break
        fi
        [[ $verb || ${COMP_WORDS[i]} == -* ]] || verb=${COMP_WORDS[i]}
    done
    # What can stand here: words, and the kind of names (compgen -f: files, -d: folders, -c: programs).
    local options= words= names=
    case $verb in
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

std::string case_of(const VerbText& verb) {
    std::vector<std::string> options;
    std::string values;
    for (const OptionText& option : verb.options) {
        const std::vector<std::string> names = all_names(option);
        options.insert(options.end(), names.begin(), names.end());
        if (option.operand || option.is_flag()) continue;
        std::string pattern;
        for (const std::string& name : names) pattern += (pattern.empty() ? "" : "|") + name;
        values += fmt::format("                {}) options= {} ;;\n", pattern, values_of(option));
    }
    const OptionText* const operand = operand_of(verb);
    return fmt::format(
        "        {})\n            options={}\n            case $option in\n{}"
        "                *) {} ;;\n            esac ;;\n",
        verb.name, shell_quoted(in_one_line(options)), values,
        operand == nullptr ? "words= names=" : values_of(*operand));
}

}  // namespace

std::string bash_completion(const CommandText& command) {
    std::vector<std::string> verbs;
    std::vector<std::string> options;
    for (const OptionText& option : command.options) {
        const std::vector<std::string> names = all_names(option);
        options.insert(options.end(), names.begin(), names.end());
    }
    std::string cases;
    for (const VerbText& verb : command.verbs) {
        verbs.push_back(verb.name);
        cases += case_of(verb);
    }
    return bash_begin +
           fmt::format("        '') options={} words={} ;;\n", shell_quoted(in_one_line(options)),
                       shell_quoted(in_one_line(verbs))) +
           cases + bash_end;
}

}  // namespace wireproof::cli
