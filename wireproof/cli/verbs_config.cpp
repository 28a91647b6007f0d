#include "wireproof/cli/verbs_config.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "wireproof/cli/config_file.hpp"
#include "wireproof/cli/config_toml.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/option_text.hpp"
#include "wireproof/front/verbs/device/settings.hpp"

namespace wireproof::cli {
namespace {

std::string variable_text(const char* name) {
    const char* const text = ::secure_getenv(name);
    return text == nullptr ? std::string() : text;
}

std::vector<ConfigValue> file_values(const std::string& path) {
    if (path.empty()) return {};
    const auto text = verbs::file_text(path);
    if (!text) refuse_usage(fmt::format("{}: {}", path, text.error().message));
    verbs::Settings settings;
    const auto read = verbs::read_settings_file(*text, path, settings);
    if (!read) refuse_usage(read.error().message);
    return plain_config_values(*text, path);
}

}  // namespace

std::string verbs_config_toml(const std::vector<std::string>& flags, const std::string& config) {
    const auto all = verbs::all_settings();
    verbs::Settings settings;
    for (const verbs::Setting& setting : all) {
        const std::string text = variable_text(setting.variable);
        if (text.empty()) continue;
        const auto read = setting.read(settings, text);
        if (!read) refuse_usage(fmt::format("{}: {}", setting.variable, read.error().message));
    }
    const std::vector<ConfigValue> of_file =
        file_values(config.empty() ? variable_text(verbs::file_variable) : config);
    std::string toml = toml_head("verbs");
    for (std::size_t i = 0; i < all.size(); ++i) {
        OptionText option;
        option.names = {std::string("--") + all[i].key};
        option.value = all[i].value[0] == '\0' ? "N" : all[i].value;
        const auto found =
            std::find_if(of_file.begin(), of_file.end(),
                         [&](const ConfigValue& one) { return one.key == all[i].key; });
        const std::string variable = variable_text(all[i].variable);
        if (!flags[i].empty()) {
            toml += toml_line(option, flags[i], "flag");
        } else if (!variable.empty()) {
            toml += toml_line(option, variable, std::string("environment ") + all[i].variable);
        } else if (found != of_file.end()) {
            toml += toml_line(option, found->text, "file " + found->place);
        } else {
            toml += toml_unset(option);
        }
    }
    return toml;
}

}  // namespace wireproof::cli
