#include "wireproof/cli/run_command.hpp"

#include <CLI/CLI.hpp>
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/provenance.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/app/common/version.hpp"
#include "wireproof/cli/command.hpp"
#include "wireproof/cli/configuration.hpp"
#include "wireproof/cli/nearest.hpp"
#include "wireproof/cli/no_effect.hpp"
#include "wireproof/cli/option_text.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/write_signals.hpp"
#include "wireproof/os/descriptor.hpp"

namespace wireproof::cli {
namespace {

/// The command line or the configuration is wrong, in one line.
struct Refused {
    std::string why;
};

int print(const std::string& text) {
    print_result(text);
    return 0;
}

// If standard output is closed, the next file that is opened would get its number, and output would
// overwrite the file. So a closed standard stream is replaced by /dev/null, opened for reading
// only: writes to it still fail.
void fill_standard_places() {
    while (true) {
        Descriptor place(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!place.is_open() || place.handle() > STDERR_FILENO) return;
        place.release();  // for as long as the process runs
    }
}

/// CLI11 says "NAME: WORD not in {ONE,TWO}". Adds the choice that was meant.
std::string with_the_choice(const std::string& problem) {
    constexpr std::string_view says = " not in {";
    const std::size_t end = problem.find(says);
    const std::size_t name = problem.rfind(": ", end);
    if (end == problem.npos || name == problem.npos || problem.back() != '}') return problem;
    std::vector<std::string> choices(1);
    for (const char c : problem.substr(end + says.size(), problem.size() - end - says.size() - 1)) {
        if (c == ',') {
            choices.emplace_back();
        } else {
            choices.back() += c;
        }
    }
    return problem + did_you_mean(problem.substr(name + 2, end - name - 2), choices);
}

// CLI11 says "subcommand", and says that one is missing if it is unknown.
std::string usage_problem(Command& command, const CLI::Error& error) {
    const std::vector<std::string> rest = command.app.remaining(true);
    if (CLI::App* const subcommand = command.subcommand(); subcommand != nullptr) {
        if (error.get_exit_code() != static_cast<int>(CLI::ExitCodes::ExtrasError)) {
            return with_the_choice(error.what());
        }
        std::vector<std::string> names;
        for (const OptionText& option : text_of_subcommand(*subcommand).options) {
            for (const auto& some : {option.names, option.off_names}) {
                names.insert(names.end(), some.begin(), some.end());
            }
        }
        const bool is_option = !rest.empty() && rest.front().starts_with("--");
        return error.what() + (is_option ? did_you_mean(rest.front(), names) : std::string());
    }
    if (rest.empty()) return "a subcommand is missing; wireproof --help names them";
    std::string like = did_you_mean(rest.front(), command.subcommand_names());
    if (like.empty()) like = "; wireproof --help names them";
    return fmt::format("unknown subcommand: {}{}", rest.front(), like);
}

/// True if the caller reads a JSON object. This looks at the words itself, because the parser stops
/// at an error.
bool wants_json(const std::vector<std::string>& words) {
    return std::find(words.begin(), words.end(), "--json") != words.end();
}

/// Reports why the run failed: in one line, and also as a JSON object if no result was printed.
void report_failure(const std::string& subcommand, bool json, const std::string& why) {
    if (json && !result_printed() && !subcommand.empty()) {
        try {
            print_error_object(subcommand, why);
        } catch (const app::Failure&) {
            // Nobody reads standard output. The line below gives the first error.
        }
    }
    app::tell(fmt::format("wireproof: {}", why));
}

/// The subcommand that the words begin with, if there is one.
std::string subcommand_of(const std::vector<std::string>& words) {
    const std::vector<std::string> names = Command().subcommand_names();
    const auto found = std::find_first_of(words.begin(), words.end(), names.begin(), names.end());
    return found == words.end() ? std::string() : *found;
}

// The result may still be in the buffer. Writing it can fail: the disk may be full, or the pipe
// closed.
int with_output_written(int code) {
    if (code != 0 || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return code;
    fail_to_write_result();
}

/// Whether the error means ReaderGone. Library functions that print report a system_error.
bool is_reader_gone(const std::exception& error) {
    if (dynamic_cast<const ReaderGone*>(&error) != nullptr) return true;
    const auto* const system = dynamic_cast<const std::system_error*>(&error);
    return system != nullptr && system->code() == std::errc::broken_pipe;
}

/// Reads the command line together with the configuration.
std::unique_ptr<Command> parsed(Configuration& configuration) {
    while (true) {
        auto command = std::make_unique<Command>();
        try {
            command->parse(configuration.words());
            return command;
        } catch (const NoEffect& option) {
            // An option that the user typed is refused below. The next turn is without this one.
            if (configuration.leave_out(option.option())) continue;
            throw Refused{option.what()};
        } catch (const CLI::CallForHelp&) {
            command->run = [text = command->app.help()] { return print(text); };
            return command;
        } catch (const CLI::CallForVersion&) {
            command->run = [] { return print(app::version() + "\n"); };
            return command;
        } catch (const CLI::ParseError& error) {
            const std::string why = usage_problem(*command, error);
            throw Refused{why + configuration.origin_of(why)};
        }
    }
}

/// What the words ask for. Throws Refused.
std::unique_ptr<Command> understood(std::vector<std::string>& words) {
    try {
        Configuration configuration(words);
        if (configuration.is_wanted()) {
            auto command = std::make_unique<Command>();
            command->run = [text = configuration.in_toml()] { return print(text); };
            return command;
        }
        words = configuration.words();
        auto command = parsed(configuration);
        words = configuration.words();
        return command;
    } catch (const CLI::ParseError& error) {
        throw Refused{error.what()};
    }
}

}  // namespace

int run_command(int argc, char** argv) {
    fill_standard_places();
    ignore_write_signals();
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    std::unique_ptr<Command> command;
    try {
        command = understood(words);
    } catch (const Refused& refused) {
        report_failure(subcommand_of(words), wants_json(words), refused.why);
        return exit_usage;
    }
    app::keep_command_line(argc > 0 ? argv[0] : "wireproof", words);
    const CLI::App* const chosen = command->subcommand();
    const std::string subcommand = chosen == nullptr ? std::string() : chosen->get_name();
    const bool json = wants_json(words);
    try {
        return with_output_written(command->run());
    } catch (const app::Interrupted& interrupted) {
        report_failure(subcommand, json, interrupted.what());
        // Let the signal end this process, so that a shell that runs us in a loop ends, too.
        std::signal(interrupted.signal(), SIG_DFL);
        std::raise(interrupted.signal());
    } catch (const std::exception& failure) {
        if (!is_reader_gone(failure)) {
            report_failure(subcommand, json, failure.what());
            return app::exit_failed;
        }
        restore_write_signals();
        std::raise(SIGPIPE);  // ends this process, unless its parent ignored the signal
    }
    return app::exit_failed;
}

}  // namespace wireproof::cli
