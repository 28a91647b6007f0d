// Runs a program that was built for RDMA adapters. Its queue pairs then work over UDP.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include "wireproof/app/common/text.hpp"
#include "wireproof/cli/drop_in.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/option_text.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"
#include "wireproof/cli/verbs_config.hpp"
#include "wireproof/cli/write_signals.hpp"
#include "wireproof/front/verbs/device/settings.hpp"

namespace wireproof::cli {
namespace {

constexpr auto how_to_run_verbs =
    R"(Runs PROGRAM so that it finds an RDMA device, wireproof0, which needs no RDMA
hardware, kernel module or root. Programs that run so on one host, or on hosts
that reach each other by UDP port 4791, reach each other. Every option is also
an environment variable (--seed is WIREPROOF_VERBS_SEED) and a key of the file
of --config (seed = 5); options win over variables, variables over the file.
wireproof doctor says why a program would not see the device.

Examples:
  wireproof verbs -- ibv_devinfo -v
  wireproof verbs -- ibv_rc_pingpong -g 1
  wireproof verbs -- ibv_rc_pingpong -g 1 127.0.0.1
  wireproof verbs --address 10.0.0.7 -- ib_write_bw -x 1
  wireproof verbs --loss 0.01 --seed 7 --pcapng a.pcapng -- ib_send_bw -x 1
  wireproof inspect a.pcapng

Exit code 2: the command line is wrong; 125: the libraries are missing, or
cannot be used; 126: PROGRAM cannot be run; 127: there is no PROGRAM; else: that
of PROGRAM.)";

// The exit codes of env(1).
constexpr int exit_no_library = 125;
constexpr int exit_not_run = 126;
constexpr int exit_no_program = 127;

struct RunVerbs {
    std::vector<std::string> values;  // of all_settings(), in their order; empty: not given
    std::string config;
    std::vector<std::string> program;  // and its arguments
    bool prints_config = false;

    /// Ends with a usage error if a setting is wrong, before the program would meet the error.
    void check() const {
        verbs::Settings settings;
        const auto all = verbs::all_settings();
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (values[i].empty()) continue;
            const auto read = all[i].read(settings, values[i]);
            if (!read) refuse_usage(fmt::format("{}: {}", all[i].option, read.error().message));
        }
        if (config.empty()) return;
        const auto text = verbs::file_text(config);
        if (!text) refuse_usage(fmt::format("--config: {}: {}", config, text.error().message));
        const auto read = verbs::read_settings_file(*text, config, settings);
        if (!read) refuse_usage("--config: " + read.error().message);
    }

    int run() const {
        const std::string folder = find_drop_in();
        if (folder.empty()) {
            app::tell(
                fmt::format("wireproof: no {} in {}", drop_in_library, drop_in_folders().front()));
            return exit_no_library;
        }
        if (folder.find_first_of(": ") != folder.npos) {
            app::tell(
                fmt::format("wireproof: {}: no program finds a library in a folder whose name has "
                            "a colon or a space",
                            folder));
            return exit_no_library;
        }
        set_environment(folder);
        restore_write_signals();
        std::vector<char*> arguments;
        for (const std::string& one : program) arguments.push_back(const_cast<char*>(one.c_str()));
        arguments.push_back(nullptr);
        ::execvp(arguments[0], arguments.data());
        const int error = errno;
        app::tell(fmt::format("wireproof: cannot run {}: {}", program[0], std::strerror(error)));
        return error == ENOENT ? exit_no_program : exit_not_run;
    }

private:
    /// The program may open the device when its working folder is another one.
    static std::string from_anywhere(const std::string& file) {
        return std::filesystem::absolute(file);
    }
    void set_environment(const std::string& folder) const {
        const LoaderVariables loader = loader_variables(folder);
        ::setenv("LD_LIBRARY_PATH", loader.library_path.c_str(), 1);
        if (!loader.preload.empty()) ::setenv("LD_PRELOAD", loader.preload.c_str(), 1);
        if (!loader.sanitizer.empty()) ::setenv("ASAN_OPTIONS", loader.sanitizer.c_str(), 1);
        const auto all = verbs::all_settings();
        for (std::size_t i = 0; i < all.size(); ++i) {
            if (values[i].empty()) continue;
            const std::string value = all[i].names_file ? from_anywhere(values[i]) : values[i];
            ::setenv(all[i].variable, value.c_str(), 1);
        }
        if (!config.empty()) ::setenv(verbs::file_variable, from_anywhere(config).c_str(), 1);
    }
};

}  // namespace

void add_verbs(CLI::App& app, Run& run) {
    const auto verbs = std::make_shared<RunVerbs>();
    CLI::App* subcommand =
        app.add_subcommand("verbs", "run an RDMA program without an RDMA adapter");
    const auto all = verbs::all_settings();
    verbs->values.resize(all.size());
    std::vector<CLI::Option*> options;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (all[i].value[0] == '\0') {
            std::string& value = verbs->values[i];
            subcommand->add_flag_callback(
                all[i].option, [&value] { value = "1"; }, all[i].help);
            continue;
        }
        options.push_back(subcommand->add_option(all[i].option, verbs->values[i], all[i].help)
                              ->type_name(all[i].value));
        const std::string choices = all[i].choices;
        if (!choices.empty()) offer(*options.back(), CLI::detail::split(choices, ','));
    }
    options.push_back(
        subcommand->add_option("--config", verbs->config, "settings in TOML: seed = 5, one a line")
            ->type_name("FILE"));
    CLI::Option* const program =
        subcommand
            ->add_option("PROGRAM", verbs->program, "behind --: the program and its arguments")
            ->required()
            ->type_name("");
    // CLI11 calls this before it misses PROGRAM.
    subcommand->add_flag_callback(
        "--print-config",
        [verbs, program] {
            verbs->prints_config = true;
            program->required(false);
        },
        "print all settings and where their values are from");
    subcommand->footer(how_to_run_verbs);
    subcommand->callback([verbs, options, &run] {
        for (const CLI::Option* option : options) {
            if (option->count() > 0 && option->as<std::string>().empty()) {
                refuse_usage(option->get_name() + " needs a value");
            }
        }
        verbs->check();
        if (verbs->prints_config) {
            run = [text = verbs_config_toml(verbs->values, verbs->config)] {
                print_result(text);
                return 0;
            };
            return;
        }
        run = [verbs] { return verbs->run(); };
    });
}

}  // namespace wireproof::cli
