// The command wireproof. It has one subcommand for each task.
#include "wireproof/cli/run_command.hpp"

int main(int argc, char** argv) {
    return wireproof::cli::run_command(argc, argv);
}
