// The source of a figure: host, processor, date, version and command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace wireproof::cli {

/// Call it once, before a verb runs.
void keep_command_line(int argc, char** argv);

/// All parts as names and values. The command line is quoted so that a shell reads the same words
/// again.
std::vector<std::pair<std::string, std::string>> provenance();

}  // namespace wireproof::cli
