// Simulates random worlds until one breaks a rule. The processors of this host, and the ranks of a
// job, share the worlds. The result is that of one after the other.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/app/task_pool/in_order.hpp"
#include "wireproof/app/task_pool/task_pool.hpp"
#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/job_ranks.hpp"
#include "wireproof/cli/names.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/soak_worlds.hpp"
#include "wireproof/cli/subcommands.hpp"
#include "wireproof/cli/timing.hpp"
#include "wireproof/lab/engines/link_engines.hpp"

namespace wireproof::cli {
namespace {

constexpr auto soak_examples = R"(Examples:
  wireproof soak --worlds 10000
  wireproof soak --protocol rc --seconds 28800
  wireproof soak --protocol flit --worlds 10000
  wireproof soak --congestion path --worlds 20000
  wireproof soak --worlds 1 --seed 4711     repeats one world
  mpirun wireproof soak --seconds 28800     its ranks share the worlds

Exit code 0: every world kept every rule; 1: one did not, and is named, or the
worlds could not run; 2: the command line is wrong.)";

using Json = SoakJson;

std::vector<std::string> link_protocols() {
    std::vector<std::string> names;
    lab::LinkEngines::for_each([&]<class A>() { names.emplace_back(A::name); });
    return names;
}

struct SoakSubcommand {
    std::string protocol = "sp-am";
    std::string congestion;  // empty: each world draws its own
    std::uint64_t worlds = 0;
    double seconds = 0;
    std::uint64_t seed = 0;
    bool json = false;
    Timing timing;
    OptionRules rules;

    int run() {
        app::catch_interrupts();
        timing.start();
        task_pool::TaskPool pool = task_pool_of("soak");
        if (!pool.is_rank_0()) return help(pool, help_with_soak);
        seed = chosen_seed(seed);
        return with_worlds<int>([&](auto empty) { return simulate(std::move(empty), pool); });
    }

    /// For the ranks other than 0. Protocol, seed and congestion control are those of rank 0.
    static void help_with_soak(task_pool::TaskPool& pool) {
        const auto setup = pool.await_setup();
        if (!setup) return;
        SoakSubcommand soak;
        const Json given = Json::parse(*setup);
        soak.protocol = given.at(0);
        soak.seed = given.at(1);
        soak.congestion = given.at(2);
        pool.work(soak.with_worlds<task_pool::Work>(
            [&](const auto& empty) { return soak.work_on(empty); }));
    }

    /// Calls `use` with empty worlds of the protocol.
    template <class Result, class Use>
    Result with_worlds(Use&& use) const {
        if (const auto engine = link_engine()) return use(LinkWorlds(*engine));
        if (protocol == "sp-am") return use(AmWorlds(control()));
        return use(IbWorlds(transport(), control()));
    }

    /// The place in lab::LinkEngines.
    std::optional<std::size_t> link_engine() const {
        std::optional<std::size_t> found;
        std::size_t at = 0;
        lab::LinkEngines::for_each([&]<class A>() {
            if (A::name == protocol) found = at;
            ++at;
        });
        return found;
    }

    template <class Worlds>
    task_pool::Work work_on(const Worlds& worlds_of) const {
        return [worlds_of, first = seed](
                   std::uint64_t task, const std::stop_token& stop) -> std::optional<std::string> {
            if (stop.stop_requested()) return std::nullopt;
            return worlds_of.run(first + task);
        };
    }

    WantedControl control() const {
        const auto& names = congestion::kind_names;
        const auto found = std::find(names.begin(), names.end(), congestion);
        if (found == names.end()) return std::nullopt;
        return static_cast<congestion::Kind>(found - names.begin());
    }
    /// Empty: both transports.
    std::optional<proto::ib::Transport> transport() const {
        if (protocol == "ib") return std::nullopt;
        return protocol == "rc" ? proto::ib::Transport::rc : proto::ib::Transport::uc;
    }

    template <class Worlds>
    int simulate(Worlds summary, task_pool::TaskPool& pool) {
        using Clock = std::chrono::steady_clock;
        if (worlds == 0) {
            worlds = seconds > 0 ? std::numeric_limits<std::uint64_t>::max() : 1'000;
        }
        const auto start = Clock::now();
        const auto passed = [start] {
            return std::chrono::duration<double>(Clock::now() - start).count();
        };
        std::string violation;
        task_pool::InOrder<std::string> results;
        const auto take = [&](task_pool::TaskAssignment& assignment, std::uint64_t task,
                              std::string text) {
            results.put(task, std::move(text));
            while (violation.empty()) {
                const std::uint64_t world = results.next();
                const auto next = results.take();
                if (!next) return;
                violation = summary.add(seed + world, *next);
                if (violation.empty()) continue;
                violation += fmt::format(
                    "; repeat: wireproof soak --protocol {}{} --worlds 1 --seed {}", protocol,
                    congestion.empty() ? "" : " --congestion " + congestion, seed + world);
                assignment.end_at(world + 1);
            }
        };
        {
            const bool timed = seconds > 0;
            app::Progress progress("worlds",
                                   timed ? static_cast<std::uint64_t>(seconds * 10) : worlds,
                                   timed ? "" : "worlds");
            const auto turn = [&](task_pool::TaskAssignment& assignment) {
                if (timed && passed() >= seconds) assignment.end_at(assignment.unassigned());
                if (pool.size() > 1) progress.set_note(fmt::format("{} ranks", assignment.ranks()));
                progress.show(timed ? static_cast<std::uint64_t>(passed() * 10)
                                    : assignment.results());
            };
            pool.run({.setup = Json{protocol, seed, congestion}.dump(),
                      .tasks = worlds,
                      .work = work_on(summary),
                      .take = take,
                      .turn = turn});
        }
        report(summary, violation);
        if (violation.empty()) return 0;
        throw app::Failure(violation);
    }

    template <class Worlds>
    void report(const Worlds& summary, const std::string& violation) const {
        const std::optional<double> took = timing.seconds();
        const auto print = violation.empty() ? print_result : print_result_of_failure;
        if (json) {
            Json out;
            out["schema"] = "wireproof.soak/1";
            out["protocol"] = protocol;
            out["seed"] = seed;
            out["worlds"] = summary.worlds();
            out["failed"] = summary.failed();
            if (summary.controlled()) out["congestion_controlled"] = *summary.controlled();
            summary.add_to(out);
            out["seconds"] = took ? Json(*took) : Json();
            if (!violation.empty()) out["error"] = violation;
            print(out.dump() + "\n");
            return;
        }
        const std::string controlled =
            summary.controlled()
                ? fmt::format("{} of them with congestion control\n", *summary.controlled())
                : "";
        print(fmt::format("{} worlds from seed {}{}: {} failed\n{}{}", summary.worlds(), seed,
                          took ? fmt::format(" in {:.1f} s", *took) : "", summary.failed(),
                          controlled, summary.text()));
    }
};

}  // namespace

void add_soak(CLI::App& app, Run& run) {
    const auto soak = std::make_shared<SoakSubcommand>();
    CLI::App* subcommand =
        app.add_subcommand("soak", "simulate random worlds until one breaks a rule");
    constexpr auto any = std::numeric_limits<std::uint64_t>::max();
    const std::vector<std::string> links = link_protocols();
    std::vector<std::string> protocols = {"sp-am", "rc", "uc", "ib"};
    protocols.insert(protocols.end(), links.begin(), links.end());
    subcommand
        ->add_option(
            "--protocol", soak->protocol,
            "sp-am, rc, uc, ib: queue pairs of rc and uc,\nor a link engine: " + either_of(links))
        ->type_name("NAME")
        ->check(CLI::IsMember(protocols))
        ->capture_default_str();
    const CLI::Option* control =
        subcommand
            ->add_option("--congestion", soak->congestion,
                         "control of rc, and of sp-am with selective "
                         "recovery; else each world draws its own")
            ->type_name("KIND")
            ->check(CLI::IsMember(std::vector<std::string>(congestion::kind_names.begin(),
                                                           congestion::kind_names.end())));
    accept_whole(*subcommand
                      ->add_option("--worlds", soak->worlds,
                                   "how many worlds (1000 if neither this nor --seconds)")
                      ->type_name("N"),
                 1, any);
    accept_range(
        *subcommand->add_option("--seconds", soak->seconds, "simulate worlds for so many seconds")
             ->type_name("S"),
        0.1, 1e7);
    accept_whole(
        *subcommand->add_option("--seed", soak->seed, "seed of the first world; the others follow")
             ->type_name("N"),
        0, any);
    soak->timing.add(*subcommand);
    subcommand->add_flag("--json", soak->json, "print one JSON object (schema wireproof.soak/1)");
    subcommand->footer(soak_examples);
    soak->rules.applies(
        control, [subcommand_of = soak.get()] { return !subcommand_of->link_engine(); },
        "without --protocol sp-am, rc, uc or ib");
    subcommand->callback([soak, subcommand, &run] {
        soak->rules.check(*subcommand);
        run = [soak] { return soak->run(); };
    });
}

}  // namespace wireproof::cli
