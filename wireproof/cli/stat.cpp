// Shows the counters of the verbs devices of running programs.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>
#include <thread>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/cli/device_counters.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/verbs.hpp"

namespace wireproof::cli {
namespace {

constexpr auto stat_schema = "wireproof.stat/1";

constexpr auto stat_examples =
    R"(Without PID: all programs that you may look into and that have opened the device
of wireproof's libibverbs. A stopped program is shown as well.

--tree writes files as the kernel does for its devices, for exporters that read
DIR in place of /sys: DIR/class/infiniband/wireproof0_PID/ports/1/hw_counters/*
Folders of programs that have ended are removed from it.

Examples:
  wireproof stat
  wireproof stat 4711 --json | jq .devices[0].hw_counters
  wireproof stat --tree /run/user/1000/sys --every 5 &
  node_exporter --path.sysfs /run/user/1000/sys --collector.infiniband

Exit code 0: done; 1: a PID shows nothing, or the tree cannot be written;
2: the command line is wrong.)";

struct StatVerb {
    std::vector<int> processes;
    std::string tree;
    double every_s = 0;
    bool json = false;
    OptionRules rules;

    std::vector<DeviceCounters> read() const {
        if (processes.empty()) return all_device_counters();
        std::vector<DeviceCounters> all;
        for (const int process : processes) all.push_back(device_counters(process));
        return all;
    }

    int run() const {
        if (!tree.empty()) {
            keep_tree();
            return 0;
        }
        const auto all = read();
        print_result(json ? json_of(all) : list_of(all));
        return 0;
    }

    void keep_tree() const {
        write_counter_tree(tree, read());
        if (every_s <= 0) return;
        catch_interrupts();
        using Clock = std::chrono::steady_clock;
        const auto period =
            std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(every_s));
        for (auto next = Clock::now() + period;; next += period) {
            while (Clock::now() < next) {
                check_interrupt();
                constexpr auto look = std::chrono::milliseconds(50);
                std::this_thread::sleep_for(std::min<Clock::duration>(look, next - Clock::now()));
            }
            write_counter_tree(tree, read());
        }
    }

    static std::string json_of(const std::vector<DeviceCounters>& all) {
        nlohmann::ordered_json json = {{"schema", stat_schema}};
        json["devices"] = nlohmann::ordered_json::array();
        for (const DeviceCounters& one : all) json["devices"].push_back(one.values);
        return json.dump() + "\n";
    }

    static std::string list_of(const std::vector<DeviceCounters>& all) {
        if (all.empty()) return "no program that you may look into has opened the device\n";
        std::string text;
        for (const DeviceCounters& one : all) {
            if (!text.empty()) text += "\n";
            text += text_of(one);
        }
        return text;
    }
};

}  // namespace

void add_stat(CLI::App& app, Run& run) {
    const auto stat = std::make_shared<StatVerb>();
    CLI::App* verb = app.add_subcommand("stat", "what the devices of running programs count");
    accept_whole(
        *verb->add_option("PID", stat->processes, "process numbers: of these programs only")
             ->type_name(""),
        1, std::numeric_limits<int>::max());
    verb->add_option("--tree", stat->tree, "write files for exporters into this folder")
        ->type_name("DIR");
    CLI::Option* const every =
        verb->add_option("--every", stat->every_s,
                         "write them again after so many seconds, until interrupted")
            ->type_name("S");
    accept_range(*every, 0.1, 86400);
    stat->rules.applies(
        every, [stat = stat.get()] { return !stat->tree.empty(); }, "--tree");
    const CLI::Option* json =
        verb->add_flag("--json", stat->json, "print one JSON object (schema wireproof.stat/1)");
    stat->rules.applies(
        json, [stat = stat.get()] { return stat->tree.empty(); }, "no --tree");
    verb->footer(stat_examples);
    verb->callback([stat, verb, &run] {
        stat->rules.check(*verb);
        run = [stat] { return stat->run(); };
    });
}

}  // namespace wireproof::cli
