#include "wireproof/cli/command.hpp"

#include <memory>

#include "wireproof/app/common/version.hpp"
#include "wireproof/cli/help.hpp"
#include "wireproof/cli/nearest.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/result.hpp"

namespace wireproof::cli {
namespace {

constexpr auto how_to_help =
    R"(Prints what wireproof SUBCOMMAND --help prints. Without SUBCOMMAND: what
wireproof --help prints.

Examples:
  wireproof help sweep

Exit code 0: printed; 1: it cannot be written; 2: the command line is wrong.)";

void add_help(Command& command) {
    const auto name = std::make_shared<std::string>();
    CLI::App* subcommand = command.app.add_subcommand("help", "print the help of a subcommand");
    subcommand->add_option("SUBCOMMAND", *name, "whose help")
        ->check(CLI::IsMember(command.subcommand_names()));
    subcommand->footer(how_to_help);
    subcommand->callback([name, &command] {
        command.run = [name, &command] {
            // The chosen subcommand is `help` itself, so the help of the command is asked of its
            // parts.
            const CLI::App& app = command.app;
            if (!name->empty()) {
                print_result(app.get_subcommand(*name)->help(app.get_name()));
            } else {
                print_result(app.get_formatter()->make_help(&app, app.get_name(),
                                                            CLI::AppFormatMode::Normal));
            }
            return 0;
        };
    });
}

void add_configuration(CLI::App& subcommand) {
    // Configuration reads both before the subcommand runs.
    const std::string what_file = "options in TOML, one section a subcommand (wireproof(1))";
    const std::string what_print = "print all options and where their values are from";
    subcommand.add_option("--config", what_file)->type_name("FILE");
    subcommand.add_flag("--print-config", what_print);
}

}  // namespace

bool is_configurable(const std::string& subcommand) {
    return subcommand != "verbs" && subcommand != "help";
}

Command::Command()
    : app("Reliable messaging over wires that lose, damage, repeat and reorder.", "wireproof") {
    app.formatter(std::make_shared<HelpText>());
    app.set_help_flag("-h,--help", "print this help");
    app.set_version_flag("--version", app::version(), "print the version");
    app.require_subcommand(1);
    app.footer(
        "For one subcommand, with examples: wireproof help SUBCOMMAND, or man\n"
        "wireproof-SUBCOMMAND. For configuration and exit codes: man wireproof.");
    add_carry(app, run);
    add_send(app, run);
    add_recv(app, run);
    add_sp2(app, run);
    add_soak(app, run);
    add_ladder(app, run);
    add_perf(app, run);
    add_search(app, run);
    add_inspect(app, run);
    add_stat(app, run);
    add_sweep(app, run);
    add_launch(app, run);
#ifdef WIREPROOF_HAS_VERBS
    add_verbs(app, run);
    add_doctor(app, run);
#endif
    for (CLI::App* subcommand : app.get_subcommands({})) {
        subcommand->group("Subcommands");
        if (is_configurable(subcommand->get_name())) add_configuration(*subcommand);
    }
    add_help(*this);
    app.get_subcommand("help")->group("Subcommands");
}

void Command::parse(const std::vector<std::string>& words) {
    app.parse(std::vector<std::string>(words.rbegin(), words.rend()));  // as CLI11 wants them
}

CLI::App* Command::subcommand() {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? nullptr : chosen.front();
}

std::vector<std::string> Command::subcommand_names() const {
    std::vector<std::string> names;
    for (const CLI::App* subcommand : app.get_subcommands({}))
        names.push_back(subcommand->get_name());
    return names;
}

}  // namespace wireproof::cli
