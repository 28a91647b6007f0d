#include "wireproof/cli/config_file.hpp"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <cstdlib>
#include <optional>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/base/toml_text.hpp"
#include "wireproof/cli/nearest.hpp"

namespace wireproof::cli {
namespace {

using toml_text::Complaints;

// Not quoted(): the one of the standard library would be found first.
std::string in_quotes(std::string_view text) {
    return toml_text::quoted(text);
}

std::string folder_in(const char* variable, const char* below) {
    const char* const text = ::secure_getenv(variable);
    // A relative path would depend on the working folder.
    return text != nullptr && text[0] == '/' ? std::string(text) + below : std::string();
}

/// The text of a value, as a command line has it.
std::optional<std::string> text_of(const toml::node& node) {
    if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
    if (const auto whole = node.value_exact<std::int64_t>()) return std::to_string(*whole);
    if (const auto real = node.value_exact<double>()) return fmt::format("{}", *real);
    return node.value_exact<std::string>();
}

std::string place_in(const std::string& path, const toml::node& node) {
    const toml::source_position at = node.source().begin;
    return fmt::format("{}:{}:{}", app::one_line(path), at.line, at.column);
}

template <class Map>
std::vector<std::string> keys_of(const Map& map) {
    std::vector<std::string> keys;
    for (const auto& [key, value] : map) keys.push_back(key);
    return keys;
}

class Reader {
public:
    Reader(std::string path, Complaints& complaints)
        : path_(std::move(path)), complaints_(complaints) {}

    /// Reads a section. Its values are added to `values`.
    void read(const toml::table& section, const std::string& subcommand, const ConfigKeys& keys,
              std::vector<ConfigValue>& values) {
        for (auto&& [name, node] : section) {
            const std::string key(name.str());
            const auto known = keys.find(key);
            if (known == keys.end()) {
                complain(name, fmt::format("unknown key {} in [{}]{}", in_quotes(key), subcommand,
                                           did_you_mean(key, keys_of(keys))));
                continue;
            }
            const auto text = text_of(node);
            if (known->second != node.is_boolean() || !text) {
                complaints_.add(node.source().begin,
                                in_quotes(key) + (known->second ? " must be true or false"
                                                                : " must be a text or a number"));
                continue;
            }
            values.push_back({key, *text, place_in(path_, node)});
        }
    }

    void complain(const toml::key& key, const std::string& what) {
        complaints_.add(key.source().begin, what);
    }

private:
    std::string path_;
    Complaints& complaints_;
};

void read_sections(const toml::table& file, Reader& reader, Complaints& complaints,
                   const std::map<std::string, ConfigKeys>& subcommands,
                   const std::string& subcommand, std::vector<ConfigValue>& values) {
    for (auto&& [name, node] : file) {
        const std::string section(name.str());
        const auto known = subcommands.find(section);
        if (known == subcommands.end()) {
            reader.complain(
                name, fmt::format("{} is no subcommand that takes options from this file{}",
                                  in_quotes(section), did_you_mean(section, keys_of(subcommands))));
        } else if (!node.is_table()) {
            complaints.add(node.source().begin, fmt::format("{} must be a table, begun by [{}]",
                                                            in_quotes(section), section));
        } else {
            std::vector<ConfigValue> unused;
            reader.read(*node.as_table(), section, known->second,
                        section == subcommand ? values : unused);
        }
    }
}

}  // namespace

bool has_rights_of_another() {
    return ::getauxval(AT_SECURE) != 0;
}

std::string usual_config_file() {
    if (has_rights_of_another()) return {};
    std::string path = folder_in("XDG_CONFIG_HOME", "/wireproof/config.toml");
    if (path.empty()) path = folder_in("HOME", "/.config/wireproof/config.toml");
    struct stat found {};
    return !path.empty() && ::stat(path.c_str(), &found) == 0 ? path : std::string();
}

std::vector<ConfigValue> plain_config_values(std::string_view text, const std::string& path) {
    std::vector<ConfigValue> values;
    const auto parsed = toml_text::parsed(text);
    if (!parsed || !*parsed) return values;
    for (auto&& [name, node] : parsed->table()) {
        if (const auto value = text_of(node)) {
            values.push_back({std::string(name.str()), *value, place_in(path, node)});
        }
    }
    return values;
}

Expected<std::vector<ConfigValue>> read_config_file(
    std::string_view text, const std::string& path,
    const std::map<std::string, ConfigKeys>& subcommands, const std::string& subcommand) {
    Complaints complaints;
    std::vector<ConfigValue> values;
    const auto parsed = toml_text::parsed(text);
    if (!parsed) {
        complaints.add(toml_text::breaking_point(text), "this is no TOML");
    } else if (!*parsed) {
        complaints.add(parsed->error().source().begin, std::string(parsed->error().description()));
    } else {
        Reader reader(path, complaints);
        read_sections(parsed->table(), reader, complaints, subcommands, subcommand, values);
    }
    if (!complaints.none()) return complaints.in(path);
    return values;
}

}  // namespace wireproof::cli
