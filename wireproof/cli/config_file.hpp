// The file of options in TOML: a section for each subcommand, whose keys are the long names of its
// options.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/base/expected.hpp"

namespace wireproof::cli {

/// The value of an option that was not typed.
struct ConfigValue {
    std::string key;    // of the option: "mtu"
    std::string text;   // "true" or "false" for a flag
    std::string place;  // "FILE:LINE:COLUMN" or the name of a variable
};

/// The keys of a subcommand; true if the option is a flag.
using ConfigKeys = std::map<std::string, bool>;

/// The path of the user's file, $XDG_CONFIG_HOME/wireproof/config.toml (default of the variable:
/// ~/.config). Empty if there is no such file, or if this process has the rights of another user.
std::string usual_config_file();

/// True if this process has the rights of another user (AT_SECURE). Then it must not read files and
/// variables that its caller chose.
bool has_rights_of_another();

/// The values of the section of `subcommand`, in the order of the file. The sections of all
/// `subcommands` are checked. The error is one line with the first mistake: "FILE:LINE:COLUMN: …".
Expected<std::vector<ConfigValue>> read_config_file(
    std::string_view text, const std::string& path,
    const std::map<std::string, ConfigKeys>& subcommands, const std::string& subcommand);

/// The values of a file without sections, which must have no mistake.
std::vector<ConfigValue> plain_config_values(std::string_view text, const std::string& path);

}  // namespace wireproof::cli
