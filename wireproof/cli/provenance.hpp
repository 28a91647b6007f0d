// Where a figure comes from: host, processor, date, version and command line.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace wireproof::cli {

/// Call it once, before any verb runs.
void keep_command_line(int argc, char** argv);

/// The command line that was kept, quoted so that a shell reads the same words again.
std::string command_line();

/// All of it, as names and values.
std::vector<std::pair<std::string, std::string>> provenance();

}  // namespace wireproof::cli
