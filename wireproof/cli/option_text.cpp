#include "wireproof/cli/option_text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cctype>

#include "wireproof/cli/names.hpp"

namespace wireproof::cli {
namespace {

// CLI11 keeps what a validator accepts in its description, and counts validators from 0.
std::vector<std::string> accepted(const CLI::Option& option) {
    std::vector<std::string> texts;
    auto& with_validators = const_cast<CLI::Option&>(option);
    try {
        for (int i = 0;; ++i) {
            const std::string text = with_validators.get_validator(i)->get_description();
            if (!text.empty()) texts.push_back(text);
        }
    } catch (const CLI::OptionNotFound&) {
        return texts;  // there is no such validator
    }
}

/// The name of the type alone: CLI11 puts the descriptions of the validators behind it.
std::string value_name(const CLI::Option& option, const std::vector<std::string>& validators) {
    std::string name = option.get_type_name();
    std::string behind;
    for (const std::string& text : validators) behind += ":" + text;
    if (name.ends_with(behind)) name.resize(name.size() - behind.size());
    return name;
}

bool is_part_of_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-';
}

bool has_word(std::string_view text, std::string_view word) {
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
        const std::size_t end = at + word.size();
        const bool begins = at == 0 || !is_part_of_word(text[at - 1]);
        if (begins && (end == text.size() || !is_part_of_word(text[end]))) return true;
    }
    return false;
}

Takes taken_by(const OptionText& option) {
    if (option.value == "PROGRAM") return Takes::program;
    if (option.value == "PID") return Takes::process;
    if (option.value == "DIR") return Takes::folder;
    // The operand of `ladder` is a name or a file.
    const bool may_be_file = option.operand && has_word(option.what, "file");
    return option.value == "FILE" || may_be_file ? Takes::file : Takes::text;
}

std::vector<OptionText> texts_of(const CLI::App& app) {
    std::vector<OptionText> all;
    for (const bool operands : {true, false}) {
        for (const CLI::Option* option : app.get_options()) {
            if (option->get_positional() == operands) all.push_back(text_of(*option));
        }
    }
    return all;
}

}  // namespace

std::string OptionText::key() const {
    for (const std::string& name : names) {
        if (name.starts_with("--")) return name.substr(2);
    }
    return {};
}

OptionText text_of(const CLI::Option& option) {
    OptionText text;
    const std::vector<std::string>& off = option.get_fnames();
    const auto add = [&](const std::string& name, const char* dashes) {
        const bool is_off = std::find(off.begin(), off.end(), name) != off.end();
        (is_off ? text.off_names : text.names).push_back(dashes + name);
    };
    for (const std::string& name : option.get_snames()) add(name, "-");
    for (const std::string& name : option.get_lnames()) add(name, "--");
    for (const std::string& one : accepted(option)) {
        if (!one.starts_with("{")) {
            text.limits = one;
            continue;
        }
        text.choices = CLI::detail::split(one.substr(1, one.size() - 2), ',');
    }
    text.operand = option.get_positional();
    if (text.operand) {
        text.value = option.get_name(true);
    } else if (option.get_items_expected_max() > 0) {
        text.value = value_name(option, accepted(option));
    }
    text.what = option.get_description();
    text.takes = taken_by(text);
    text.initial = option.get_default_str();
    text.required = option.get_required();
    text.repeated = option.get_items_expected_max() > 1;
    return text;
}

SubcommandText text_of_subcommand(const CLI::App& subcommand) {
    return {subcommand.get_name(), subcommand.get_description(), subcommand.get_footer(),
            texts_of(subcommand)};
}

CommandText text_of_command(const CLI::App& app) {
    CommandText text{app.get_name(), app.get_description(), texts_of(app), {}};
    for (const CLI::App* subcommand : app.get_subcommands({}))
        text.subcommands.push_back(text_of_subcommand(*subcommand));
    return text;
}

std::string choices_text(const std::vector<std::string>& choices) {
    return "{" + CLI::detail::join(choices, ",") + "}";
}

void offer(CLI::Option& option, const std::vector<std::string>& words) {
    option.check(
        CLI::Validator([](const std::string&) { return std::string(); }, choices_text(words)));
}

bool names_choices(const OptionText& option) {
    return std::all_of(option.choices.begin(), option.choices.end(),
                       [&](const std::string& one) { return has_word(option.what, one); });
}

std::string whole_text(const OptionText& option, std::size_t choices_max) {
    std::string text = option.what;
    if (!names_choices(option) && option.choices.size() <= choices_max) {
        text += (text.empty() ? "" : ": ") + either_of(option.choices);
    }
    if (!option.initial.empty()) text += " (" + option.initial + ")";
    return text;
}

}  // namespace wireproof::cli
