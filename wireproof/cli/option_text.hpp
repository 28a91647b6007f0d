// The options of the command, read from its parser. Help, manual pages, completion and
// configuration all come from this table, so that they cannot differ.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wireproof::cli {

/// What completion offers for a value, besides the choices.
enum class Takes : unsigned char { text, file, folder, program, process };

/// An option, or an operand such as FILE.
struct OptionText {
    std::vector<std::string> names;      // "-h", "--help"; an operand has none
    std::vector<std::string> off_names;  // of a flag: "--no-damage"
    std::string value;                   // "N"; the name of an operand; empty: a flag
    std::string what;                    // each line break begins a new statement
    std::string initial;                 // the default; empty: it depends, or there is none
    std::string limits;                  // "0 to 1"; empty: none, or it has choices
    std::vector<std::string> choices;    // the words that it accepts; empty: any
    Takes takes = Takes::text;
    bool operand = false;
    bool required = false;
    bool repeated = false;  // an operand that takes many words

    bool is_flag() const { return !operand && value.empty(); }
    /// The first long name without its dashes, which is the key of a configuration file; may be
    /// empty.
    std::string key() const;
};

struct SubcommandText {
    std::string name;
    std::string what;
    std::string footer;
    std::vector<OptionText> options;  // operands first
};

struct CommandText {
    std::string name;
    std::string what;
    std::vector<OptionText> options;
    std::vector<SubcommandText> subcommands;
};

OptionText text_of(const CLI::Option& option);
SubcommandText text_of_subcommand(const CLI::App& subcommand);
CommandText text_of_command(const CLI::App& app);

/// A validator's description that text_of() reads as the words that an option accepts.
std::string choices_text(const std::vector<std::string>& choices);

/// Says that the option accepts these words, for an option that its subcommand checks later.
void offer(CLI::Option& option, const std::vector<std::string>& words);

/// Whether the text of the option already names all its choices.
bool names_choices(const OptionText& option);

/// What the option does, the choices unless the text names them or there are more than
/// `choices_max`, and the default in parentheses.
std::string whole_text(const OptionText& option, std::size_t choices_max);

}  // namespace wireproof::cli
