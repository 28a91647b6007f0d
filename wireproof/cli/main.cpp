// The command wireproof. It has one verb for each task.
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
#include <string_view>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/provenance.hpp"
#include "wireproof/app/common/text.hpp"
#include "wireproof/app/common/version.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/verbs.hpp"
#include "wireproof/cli/write_signals.hpp"

namespace {

using namespace wireproof::cli;

// If standard output is closed, the next file that is opened would get its number, and output would
// overwrite the file. So a closed standard stream is replaced by /dev/null, opened for reading
// only: writes to it still fail.
void fill_standard_places() {
    while (true) {
        const int place = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
        if (place > STDERR_FILENO) ::close(place);
        if (place < 0 || place > STDERR_FILENO) return;
    }
}

/// Shows only what an option takes. If the user breaks a rule about other options, the error says
/// it.
class ShortHelp : public CLI::Formatter {
    std::string make_option_opts(const CLI::Option* option) const override {
        const std::string all = CLI::Formatter::make_option_opts(option);
        return all.substr(0, std::min(all.find(" Needs: "), all.find(" Excludes: ")));
    }
};

// CLI11 says "subcommand", and says that one is missing if it is unknown.
std::string usage_problem(const CLI::App& app, const CLI::Error& error) {
    if (!app.get_subcommands().empty()) return error.what();
    const std::vector<std::string> rest = app.remaining();
    if (rest.empty()) return "a verb is missing; wireproof --help names them";
    return fmt::format("unknown verb: {}; wireproof --help names them", rest.front());
}

/// True if the caller reads a JSON object. This looks at the arguments itself, because the parser
/// stops at an error.
bool wants_json(int argc, char** argv) {
    return std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
}

/// Reports why the run failed: in one line, and also as a JSON object if no result was printed.
void report_failure(const CLI::App& app, bool json, const std::string& why) {
    if (json && !result_printed() && !app.get_subcommands().empty()) {
        try {
            print_error_object(app.get_subcommands().front()->get_name(), why);
        } catch (const Failure&) {
            // Nobody reads standard output. The line below gives the first error.
        }
    }
    tell(fmt::format("wireproof: {}", why));
}

// The result may still be in the buffer. Writing it can fail: the disk may be full, or the pipe
// closed.
int with_output_written(int code) {
    if (code != 0 || (std::fflush(stdout) == 0 && std::ferror(stdout) == 0)) return code;
    throw Failure(fmt::format("cannot write the result: {}", std::strerror(errno)));
}

}  // namespace

int main(int argc, char** argv) {
    fill_standard_places();
    keep_command_line(argc, argv);
    ignore_write_signals();

    CLI::App app("Reliable messaging over wires that lose, damage, repeat and reorder.",
                 "wireproof");
    app.formatter(std::make_shared<ShortHelp>());
    app.set_version_flag("--version", version());
    app.require_subcommand(1);
    app.footer("Each verb has its own --help, with examples.");
    const bool json = wants_json(argc, argv);
    Run run;
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
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
        report_failure(app, json, usage_problem(app, error));
        return exit_usage;
    }
    try {
        return with_output_written(run());
    } catch (const Interrupted& interrupted) {
        report_failure(app, json, interrupted.what());
        // Let the signal end this process, so that a shell that runs us in a loop ends, too.
        std::signal(interrupted.signal(), SIG_DFL);
        std::raise(interrupted.signal());
    } catch (const std::exception& failure) {
        report_failure(app, json, failure.what());
    }
    return exit_failed;
}
