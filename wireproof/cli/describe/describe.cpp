// Writes the manual pages and the completions of the command. It runs when the project is built,
// and reads the options from the parser that the command has.
//   wireproof_describe FOLDER "May 1, 2026"
#include <cstdio>
#include <exception>
#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>

#include "wireproof/app/common/files.hpp"
#include "wireproof/cli/command.hpp"
#include "wireproof/cli/describe/completion.hpp"
#include "wireproof/cli/describe/man_page.hpp"

namespace {

using namespace wireproof::cli;

void write(const std::filesystem::path& path, const std::string& text) {
    wireproof::app::OutputFile file(path.string());
    file.write(0, std::as_bytes(std::span(text)));
    file.finish();
}

void describe(const std::filesystem::path& folder, const std::string& date) {
    const Command command;
    const CommandText text = text_of_command(command.app);
    std::filesystem::create_directories(folder / "man1");
    write(folder / "man1" / "wireproof.1", man_page(text, date));
    for (const SubcommandText& subcommand : text.subcommands) {
        write(folder / "man1" / ("wireproof-" + subcommand.name + ".1"),
              man_page(subcommand, date));
    }
    write(folder / "wireproof.bash", bash_completion(text));
    write(folder / "wireproof.zsh", zsh_completion(text));
    write(folder / "wireproof.fish", fish_completion(text));
}

}  // namespace

int main(int argc, char** argv) {
    try {
        if (argc != 3) throw std::runtime_error("needs a FOLDER and a date");
        describe(argv[1], argv[2]);
    } catch (const std::exception& failure) {
        std::fprintf(stderr, "wireproof_describe: %s\n", failure.what());
        return 1;
    }
    return 0;
}
