// Starts a program as the ranks of a job, on this host or by ssh on others.
#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <memory>

#include "wireproof/app/common/text.hpp"
#include "wireproof/app/launch/host_list.hpp"
#include "wireproof/app/launch/job.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/subcommands.hpp"
#include "wireproof/cli/write_signals.hpp"
#include "wireproof/os/address.hpp"

namespace wireproof::cli {
namespace {

constexpr auto how_to_launch =
    R"(Starts PROGRAM N times: as processes of this host, or with --hosts by ssh, which
must not need a password. HOST:4 has four ranks, HOST alone has one, and ranks
are placed in this order. Each rank finds in its environment WIREPROOF_RANK,
WIREPROOF_SIZE, WIREPROOF_JOB, WIREPROOF_HOST, WIREPROOF_RENDEZVOUS and
WIREPROOF_TOKEN (share/doc/wireproof/guide/messages/jobs.md). Standard input is
empty.

SIGINT, SIGTERM and SIGHUP are passed on to the ranks; a second one kills them.
SIGUSR1, SIGUSR2 and Ctrl-Z are passed on, too. If the launcher dies, the ranks
are ended. This is for machines that have no launcher: mpirun and srun can do
more.

Examples:
  wireproof launch -n 4 -- ./program --its-option
  wireproof launch -n 4 --prefix -- sh -c 'echo $WIREPROOF_RANK'
  wireproof launch --hosts a,b:4 -- ./program
  wireproof launch --hosts a,b --ssh 'ssh -p 2222' -- ./program

Exit code 0: every rank ended with 0; 1: the job cannot run; 2: the command line
is wrong; 126: PROGRAM cannot be run; 127: there is no PROGRAM; else: that of
the rank that failed first (128+S: signal S ended it).)";

struct LaunchSubcommand {
    std::size_t number = 0;  // 0: not given
    std::string hosts;
    launch::JobPlan plan;

    void check(bool hosts_given) {
        plan.size = number;
        if (hosts_given) {
            auto places = launch::parse_hosts(hosts);
            if (!places) refuse_usage("--hosts: " + places.error().message);
            if (number == 0) plan.size = places->size();
            if (plan.size > places->size()) {
                refuse_usage(
                    fmt::format("--ranks: {} ranks, but --hosts has places for {}; HOST:4 has "
                                "four places",
                                plan.size, places->size()));
            }
            places->resize(plan.size);
            plan.hosts = std::move(*places);
        }
        if (plan.size == 0) refuse_usage("-n N or --hosts says how many ranks there are");
        if (plan.ssh.find_first_not_of(' ') == plan.ssh.npos) refuse_usage("--ssh: no command");
        if (plan.address.empty()) return;
        const auto address = Address::parse_host(plan.address);
        if (!address) refuse_usage("--address: " + address.error().message);
    }

    int run() {
        plan.before_exec = restore_write_signals;
        plan.report = [](const std::string& line) { app::tell("wireproof: " + line); };
        return app::opened(launch::run_job(plan));
    }
};

}  // namespace

void add_launch(CLI::App& app, Run& run) {
    const auto launch = std::make_shared<LaunchSubcommand>();
    launch->plan.ssh = "ssh -o BatchMode=yes";
    CLI::App* subcommand = app.add_subcommand("launch", "start a program as the ranks of a job");
    accept_whole(
        *subcommand
             ->add_option("-n,--ranks", launch->number, "how many ranks; with --hosts: all places")
             ->type_name("N"),
        1, launch::ranks_max);
    const CLI::Option* hosts =
        subcommand->add_option("--hosts", launch->hosts, "run on these hosts: a,b:4")
            ->type_name("LIST");
    subcommand->add_flag("--keep-going", launch->plan.keep_going,
                         "if a rank fails, do not end the others");
    subcommand->add_flag("--prefix", launch->plan.prefix,
                         "begin each line of output with the rank: [3]");
    auto rules = std::make_shared<OptionRules>();
    const auto has_hosts = [hosts] { return hosts->count() > 0; };
    rules->applies(subcommand->add_option("--ssh", launch->plan.ssh, "what to run in place of ssh")
                       ->capture_default_str()
                       ->type_name("COMMAND"),
                   has_hosts, "without --hosts");
    rules->applies(subcommand
                       ->add_option("--address", launch->plan.address,
                                    "this host for the others; default: SSH_CONNECTION")
                       ->type_name("IP"),
                   has_hosts, "without --hosts");
    subcommand
        ->add_option("PROGRAM", launch->plan.program, "behind --: the program and its arguments")
        ->required()
        ->type_name("");
    subcommand->footer(how_to_launch);
    subcommand->callback([launch, rules, subcommand, has_hosts, &run] {
        rules->check(*subcommand);
        launch->check(has_hosts());
        run = [launch] { return launch->run(); };
    });
}

}  // namespace wireproof::cli
