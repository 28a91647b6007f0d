// The source of a figure: host, processor, date, version and command line.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wireproof::app {

/// Call it once, before a subcommand runs. The words include options that come from the
/// configuration.
void keep_command_line(std::string_view program, const std::vector<std::string>& words);

/// All parts as names and values. The command line is quoted so that a shell reads the same words
/// again.
std::vector<std::pair<std::string, std::string>> provenance();

}  // namespace wireproof::app
