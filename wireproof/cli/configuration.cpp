#include "wireproof/cli/configuration.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <utility>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/files.hpp"
#include "wireproof/cli/command.hpp"
#include "wireproof/cli/config_file.hpp"
#include "wireproof/cli/config_toml.hpp"
#include "wireproof/cli/nearest.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/option_text.hpp"

namespace wireproof::cli {
namespace {

constexpr const char* config_option = "--config";
constexpr const char* print_option = "--print-config";
constexpr const char* stop_option = "--stop-before-the-subcommand";

/// Whether the configuration can give this option.
bool is_configurable(const OptionText& option) {
    const std::string key = option.key();
    return !option.operand && !key.empty() && key != "help" && "--" + key != config_option &&
           "--" + key != print_option && "--" + key != stop_option;
}

std::vector<OptionText> configurable_options(const CLI::App& subcommand) {
    std::vector<OptionText> all = text_of_subcommand(subcommand).options;
    std::erase_if(all, [](const OptionText& option) { return !is_configurable(option); });
    return all;
}

ConfigKeys keys_of(const CLI::App& subcommand) {
    ConfigKeys keys;
    for (const OptionText& option : configurable_options(subcommand)) {
        keys.emplace(option.key(), option.is_flag());
    }
    return keys;
}

/// "WIREPROOF_SWEEP_ACK_EVERY" of "sweep" and "ack-every".
std::string variable_of(const std::string& subcommand, const std::string& key) {
    std::string name = "WIREPROOF_" + subcommand + "_" + key;
    for (char& c : name) {
        c = c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    }
    return name;
}

bool is_variable(const std::string& place) {
    return place.starts_with("WIREPROOF_") && place.find(':') == place.npos;
}

std::string source_of(const std::string& place) {
    return (is_variable(place) ? "environment " : "file ") + place;
}

/// The words with which a user would type the option.
std::vector<std::string> words_of(const CLI::App& subcommand, const std::string& option,
                                  const std::string& text) {
    const OptionText about = text_of(*subcommand.get_option(option));
    if (!about.is_flag()) return {option, text};
    if (text == "true") return {option};
    return about.off_names.empty() ? std::vector<std::string>() : about.off_names;
}

/// The parser then ends where the subcommand would look at its values: it misses an option. The
/// subcommand's function cannot be removed, for it owns the variables of the options.
void stop_before(CLI::App& subcommand) {
    subcommand.add_option(stop_option)->required();
}

/// The parser then only reads values: it requires and excludes no other option.
void only_read_values(CLI::App& subcommand) {
    for (CLI::Option* option : subcommand.get_options()) {
        option->required(false);
        for (CLI::Option* other : option->get_needs()) option->remove_needs(other);
        for (CLI::Option* other : option->get_excludes()) option->remove_excludes(other);
    }
    stop_before(subcommand);
}

/// Reads the words for a subcommand with which the parser stops.
void read(Command& command, const std::vector<std::string>& words) {
    try {
        command.parse(words);
    } catch (const CLI::RequiredError&) {
        const CLI::App* const subcommand = command.subcommand();
        if (subcommand == nullptr) throw;
        std::vector<std::string> rest = subcommand->remaining();
        std::erase(rest, "--");  // CLI11 counts the mark before the words of a program
        if (!rest.empty()) throw CLI::ExtrasError(subcommand->get_name(), rest);
    }
}

/// The reason for which the subcommand refuses the value, or nothing.
std::string complaint_about(const std::string& subcommand, const std::string& option,
                            const std::string& text) {
    Command probe;
    CLI::App& app = *probe.app.get_subcommand(subcommand);
    only_read_values(app);
    std::vector<std::string> words = words_of(app, option, text);
    words.insert(words.begin(), subcommand);
    try {
        read(probe, words);
    } catch (const CLI::Error& error) {
        std::string why = error.what();
        return why.starts_with(option + ": ") ? why.substr(option.size() + 2) : why;
    }
    return {};
}

}  // namespace

Configuration::Configuration(std::vector<std::string> words)
    : typed_(std::move(words)), words_(typed_) {
    Command first;
    for (CLI::App* subcommand : first.app.get_subcommands({})) stop_before(*subcommand);
    try {
        read(first, typed_);
    } catch (const CLI::Success&) {
        return;  // --help, --version
    } catch (const CLI::Error&) {
        // The configuration may give what is missing. If not, main reads the words again and tells.
    }
    CLI::App* const subcommand = first.subcommand();
    if (subcommand == nullptr || !cli::is_configurable(subcommand->get_name())) return;
    subcommand_ = subcommand->get_name();
    is_wanted_ = subcommand->get_option(print_option)->count() > 0;
    const std::vector<std::string> files = subcommand->get_option(config_option)->results();
    if (!files.empty() && files.back().empty()) refuse_usage("--config: the file has no name");
    if (!files.empty() && has_rights_of_another()) {
        refuse_usage("--config is refused: this process has the rights of another user");
    }
    read_variables(*subcommand);
    read_file(*subcommand, files.empty() ? usual_config_file() : files.back());
    check_values();
    leave_out_what_cannot_be(*subcommand);
    for (const Value& value : values_) {
        if (subcommand->get_option(value.option)->count() > 0) overridden_.push_back(value);
    }
    std::erase_if(values_, [subcommand](const Value& value) {
        return subcommand->get_option(value.option)->count() > 0;
    });
    build_words();
}

void Configuration::add(Value value) {
    const bool has_one = std::any_of(values_.begin(), values_.end(),
                                     [&](const Value& other) { return other.key == value.key; });
    (has_one ? overridden_ : values_).push_back(std::move(value));
}

void Configuration::read_variables(const CLI::App& subcommand) {
    if (has_rights_of_another()) return;
    const std::string prefix = variable_of(subcommand_, "");
    const ConfigKeys keys = keys_of(subcommand);
    std::vector<std::string> variables;
    for (const auto& [key, is_flag] : keys) variables.push_back(variable_of(subcommand_, key));
    for (char** entry = ::environ; *entry != nullptr; ++entry) {
        const std::string_view both = *entry;
        const std::size_t equals = both.find('=');
        if (!both.starts_with(prefix) || equals == both.npos || equals + 1 == both.size()) continue;
        const std::string name(both.substr(0, equals));
        const auto known = std::find(variables.begin(), variables.end(), name);
        if (known == variables.end()) {
            refuse_usage(fmt::format("no option of {} has the variable {}{}", subcommand_, name,
                                     did_you_mean(name, variables)));
        }
        const auto& [key, is_flag] = *std::next(keys.begin(), known - variables.begin());
        std::string text(both.substr(equals + 1));
        if (is_flag) {
            if (text == "1") text = "true";
            if (text == "0") text = "false";
            if (text != "true" && text != "false") {
                refuse_usage(fmt::format("{}: {} is not true, false, 1 or 0", name, text));
            }
        }
        add({"--" + key, key, text, name, {}});
    }
}

void Configuration::read_file(const CLI::App& subcommand, const std::string& path) {
    if (path.empty()) return;
    std::string text;
    try {
        text = app::text_of_file(path);
    } catch (const app::Failure& failure) {
        refuse_usage(fmt::format("{}: {}", config_option, failure.what()));
    }
    std::map<std::string, ConfigKeys> subcommands;
    for (const CLI::App* one : subcommand.get_parent()->get_subcommands({})) {
        const std::string& name = one->get_name();
        if (cli::is_configurable(name)) subcommands.emplace(name, keys_of(*one));
    }
    const auto values = read_config_file(text, path, subcommands, subcommand_);
    if (!values) refuse_usage(values.error().message);
    for (const ConfigValue& value : *values) {
        add({"--" + value.key, value.key, value.text, value.place, {}});
    }
}

void Configuration::check_values() const {
    for (const auto* all : {&values_, &overridden_}) {
        for (const Value& value : *all) {
            const std::string why = complaint_about(subcommand_, value.option, value.text);
            if (why.empty()) continue;
            refuse_usage(is_variable(value.place)
                             ? fmt::format("{}: {}", value.place, why)
                             : fmt::format("{}: \"{}\": {}", value.place, value.key, why));
        }
    }
}

// The user cannot know in a file which options a later command line has. So an option of the file
// that cannot stand beside them is no mistake.
void Configuration::leave_out_what_cannot_be(CLI::App& subcommand) {
    std::set<const CLI::Option*> given;
    for (const CLI::Option* option : subcommand.get_options()) {
        if (option->count() > 0) given.insert(option);
    }
    for (Value& value : values_) {
        const CLI::Option* const option = subcommand.get_option(value.option);
        if (words_of(subcommand, value.option, value.text).empty()) continue;
        for (const CLI::Option* other : option->get_excludes()) {
            if (given.contains(other)) value.left_out = "excluded by " + other->get_name();
        }
        if (value.left_out.empty()) given.insert(option);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (Value& value : values_) {
            const CLI::Option* const option = subcommand.get_option(value.option);
            if (!value.left_out.empty() || option->count() > 0 || !given.contains(option)) continue;
            for (const CLI::Option* other : option->get_needs()) {
                if (!given.contains(other)) value.left_out = "it needs " + other->get_name();
            }
            if (value.left_out.empty()) continue;
            given.erase(option);
            changed = true;
        }
    }
}

void Configuration::build_words() {
    Command command;
    const CLI::App& subcommand = *command.app.get_subcommand(subcommand_);
    words_ = typed_;
    auto at = std::find(words_.begin(), words_.end(), subcommand_) + 1;
    for (const Value& value : values_) {
        if (!value.left_out.empty()) continue;
        const auto more = words_of(subcommand, value.option, value.text);
        at = words_.insert(at, more.begin(), more.end()) + static_cast<std::ptrdiff_t>(more.size());
    }
}

bool Configuration::leave_out(const std::string& option) {
    for (Value& value : values_) {
        if (value.option != option || !value.left_out.empty()) continue;
        value.left_out = "it has no effect here";
        build_words();
        return true;
    }
    return false;
}

std::string Configuration::origin_of(const std::string& complaint) const {
    for (const Value& value : values_) {
        const std::size_t at = complaint.find(value.option);
        if (!value.left_out.empty() || at == complaint.npos) continue;
        const std::size_t end = at + value.option.size();
        if (end < complaint.size() && complaint[end] != ' ' && complaint[end] != ':') continue;
        return fmt::format(" ({} is from {})", value.option, value.place);
    }
    return {};
}

std::string Configuration::in_toml() const {
    Command command;
    CLI::App& subcommand = *command.app.get_subcommand(subcommand_);
    only_read_values(subcommand);
    read(command, words_);
    std::string text = toml_head(subcommand_) + fmt::format("[{}]\n", subcommand_);
    for (const OptionText& option : configurable_options(subcommand)) {
        const CLI::Option& typed = *subcommand.get_option("--" + option.key());
        const auto value = std::find_if(values_.begin(), values_.end(),
                                        [&](const Value& one) { return one.key == option.key(); });
        if (value != values_.end() && !value->left_out.empty()) {
            text += toml_comment(
                option, value->text,
                fmt::format("{}, left out: {}", source_of(value->place), value->left_out));
        } else if (value != values_.end()) {
            text += toml_line(option, value->text, source_of(value->place));
        } else if (typed.count() > 0) {
            text += toml_line(option, typed.results().back(), "flag");
        } else if (option.is_flag() && option.off_names.empty()) {
            text += toml_comment(option, "false", "default");
        } else if (!option.initial.empty()) {
            text += toml_comment(option, option.initial, "default");
        } else {
            text += toml_unset(option);
        }
    }
    return text;
}

}  // namespace wireproof::cli
