// --print-config of the subcommand `verbs`, whose file and variables are those of the device.
#pragma once

#include <string>
#include <vector>

namespace wireproof::cli {

/// The settings that a program would get, and where each is from, in TOML that `verbs --config`
/// accepts. `flags` has a text for each of verbs::all_settings(), empty if it was not typed.
/// `config` is the file of --config, empty if there is none. Throws CLI::ParseError if a variable
/// or the file has a mistake.
std::string verbs_config_toml(const std::vector<std::string>& flags, const std::string& config);

}  // namespace wireproof::cli
