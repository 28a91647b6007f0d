// Shows the counters of the Endpoints and devices of running programs.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <thread>

#include "wireproof/app/common/files.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/stat_values.hpp"
#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {
namespace {

constexpr auto stat_examples =
    R"(Without PID: all programs that you may look into and that have opened an
Endpoint of am.hpp, a Device of ib.hpp, or the device of wireproof's libibverbs.
A stopped program is listed as well. share/doc/wireproof/reference/counters.md
explains the values.

--every prints them again, until interrupted, with the growth of each counter in
a second. With --json it prints one object in each line.

--prometheus prints the text format of Prometheus. With --out the file is never
half written, so node_exporter's textfile collector may read it at any time.

--tree writes files as the kernel does for its devices, for exporters that read
DIR in place of /sys: DIR/class/infiniband/wireproof0_PID/ports/1/hw_counters/*
It has the devices of libibverbs only. Folders of programs that have ended are
removed from it.

Examples:
  wireproof stat
  wireproof stat --every 1
  wireproof stat 4711 --json | jq '.endpoints[0].peers'
  wireproof stat --prometheus --out /var/lib/node/wireproof.prom --every 15 &
  node_exporter --collector.textfile.directory /var/lib/node
  wireproof stat --tree /run/user/1000/sys --every 5 &
  node_exporter --path.sysfs /run/user/1000/sys --collector.infiniband

Exit code 0: done; 1: a PID shows nothing, or a file cannot be written; 2: the
command line is wrong.)";

struct StatSubcommand {
    std::vector<int> processes;
    std::string tree;
    std::string out;
    double every_s = 0;
    bool json = false;
    bool prometheus = false;
    OptionRules rules;

    int run() const {
        std::vector<StatOf> before = show(nullptr);
        if (every_s <= 0) return 0;
        app::catch_interrupts();
        using Clock = std::chrono::steady_clock;
        const auto period =
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(every_s));
        for (auto next = Clock::now() + period;; next = std::max(next + period, Clock::now())) {
            app::check_interrupt();  // also if a round takes longer than the period
            while (Clock::now() < next) {
                app::check_interrupt();
                constexpr auto look = std::chrono::milliseconds(50);
                std::this_thread::sleep_for(std::min<Clock::duration>(look, next - Clock::now()));
            }
            before = show(&before);
        }
    }

    /// Null: this is the first time.
    std::vector<StatOf> show(const std::vector<StatOf>* before) const {
        std::vector<StatOf> all = read_stats(processes);
        if (!tree.empty()) {
            write_counter_tree(tree, all);
        } else if (prometheus) {
            print_exposition(stat_exposition(all));
        } else if (json) {
            print_result(stat_json(all));
        } else if (every_s <= 0) {
            print_result(stat_text(all));
        } else {
            print_table(stat_rates(all, before != nullptr ? *before : std::vector<StatOf>()),
                        before != nullptr);
        }
        return all;
    }

    void print_exposition(const std::string& text) const {
        if (out.empty()) return print_result(text);
        app::OutputFile file(out);
        file.write(0, std::as_bytes(std::span(text)));
        file.finish();
    }

    /// On a terminal, the table replaces the one before.
    static void print_table(const std::string& table, bool again) {
        if (::isatty(STDOUT_FILENO) != 0) {
            print_result("\x1b[H\x1b[2J" + table);
        } else {
            print_result(again ? "\n" + table : table);
        }
    }
};

}  // namespace

void add_stat(CLI::App& app, Run& run) {
    const auto stat = std::make_shared<StatSubcommand>();
    StatSubcommand* const subcommand_of = stat.get();
    CLI::App* subcommand = app.add_subcommand("stat", "what running programs count");
    accept_whole(
        *subcommand->add_option("PID", stat->processes, "process numbers: of these programs only")
             ->type_name(""),
        1, std::numeric_limits<int>::max());
    subcommand->add_option("--tree", stat->tree, "write files for exporters into this folder")
        ->type_name("DIR");
    const CLI::Option* prometheus = subcommand->add_flag("--prometheus", stat->prometheus,
                                                         "print the text format of Prometheus");
    const CLI::Option* out =
        subcommand->add_option("--out", stat->out, "write that into this file")->type_name("FILE");
    CLI::Option* const every =
        subcommand
            ->add_option("--every", stat->every_s,
                         "print or write them again after so many seconds, until interrupted")
            ->type_name("S");
    accept_range(*every, 0.1, 86400);
    const CLI::Option* json = subcommand->add_flag(
        "--json", stat->json, "print one JSON object (schema wireproof.stat/2)");
    const auto to_a_file = [subcommand_of] {
        return !subcommand_of->out.empty() && !app::is_standard_output(subcommand_of->out);
    };
    stat->rules.applies(
        prometheus, [subcommand_of] { return subcommand_of->tree.empty(); }, "with --tree");
    stat->rules.applies(
        json, [subcommand_of] { return subcommand_of->tree.empty() && !subcommand_of->prometheus; },
        "with --tree or --prometheus");
    stat->rules.applies(
        out, [subcommand_of] { return subcommand_of->prometheus; }, "without --prometheus");
    stat->rules.writes(out, stat->out);
    stat->rules.applies(
        every, [subcommand_of, to_a_file] { return !subcommand_of->prometheus || to_a_file(); },
        "with --prometheus, unless --out names a file");
    subcommand->footer(stat_examples);
    subcommand->callback([stat, subcommand, &run] {
        stat->rules.check(*subcommand);
        run = [stat] { return stat->run(); };
    });
}

}  // namespace wireproof::cli
