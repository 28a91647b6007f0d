// From the words of a command line to the exit code.
#pragma once

namespace wireproof::cli {

/// Reads the command line and the configuration, runs the chosen subcommand, and reports what fails
/// on standard error. Takes what main takes, and returns the exit code.
int run_command(int argc, char** argv);

}  // namespace wireproof::cli
