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
#include "wireproof/app/farm/farm.hpp"
#include "wireproof/app/farm/in_order.hpp"
#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/job_ranks.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/timing.hpp"
#include "wireproof/cli/verbs.hpp"
#include "wireproof/lab/worlds/am_world.hpp"
#include "wireproof/lab/worlds/ib_world.hpp"

namespace wireproof::cli {
namespace {

constexpr auto soak_examples = R"(Examples:
  wireproof soak --worlds 10000
  wireproof soak --protocol rc --seconds 28800
  wireproof soak --congestion path --worlds 20000
  wireproof soak --worlds 1 --seed 4711     repeats one world
  mpirun wireproof soak --seconds 28800     its ranks share the worlds

Exit code 0: every world kept every rule; 1: one did not, and is named.)";

using Json = nlohmann::ordered_json;

std::string broken(const std::string& violation, const std::string& what) {
    return violation.empty() ? "" : fmt::format("{} ({})", violation, what);
}

/// The kind of congestion control that the user wants in all worlds.
using WantedControl = std::optional<congestion::Kind>;

// A world that some rank has simulated is a text: the figures that the summary needs, and what was
// broken. Rank 0 adds the worlds in the order of their seeds.

class AmWorlds {
public:
    explicit AmWorlds(WantedControl congestion) : congestion_(congestion) {}

    std::string run(std::uint64_t seed) const {
        const lab::AmWorldResult world =
            lab::run_am_world({.seed = seed, .congestion = congestion_});
        const Json text = {world.operations, world.frames,    world.filled, world.numbered,
                           world.resent,     world.violation, world.what,   world.controlled};
        return text.dump();
    }
    /// Returns what the world has broken; empty: nothing.
    std::string add(std::uint64_t seed, const std::string& text) {
        const Json figures = Json::parse(text);
        lab::AmWorldResult world;
        world.seed = seed;
        world.operations = figures.at(0);
        world.frames = figures.at(1);
        world.filled = figures.at(2);
        world.numbered = figures.at(3);
        world.resent = figures.at(4);
        world.violation = figures.at(5);
        world.what = figures.at(6);
        world.controlled = figures.at(7);
        summary_.add(world);
        return broken(world.violation, world.what);
    }
    std::uint64_t worlds() const { return summary_.worlds; }
    std::uint64_t failed() const { return summary_.failed; }
    std::uint64_t controlled() const { return summary_.controlled; }
    void add_to(Json& out) const {
        out["operations"] = summary_.operations;
        out["frames"] = summary_.frames;
        out["cost_mean"] = summary_.cost_mean();
        out["cost_max"] = summary_.cost_max;
        out["costliest_seed"] = summary_.costliest_seed;
    }
    std::string text() const {
        return fmt::format(
            "{} operations, {} frames; packets sent for one needed: {:.2f} on average,\n"
            "{:.2f} at worst (seed {})\n",
            summary_.operations, summary_.frames, summary_.cost_mean(), summary_.cost_max,
            summary_.costliest_seed);
    }

private:
    WantedControl congestion_;
    lab::AmWorldsSummary summary_;
};

class IbWorlds {
public:
    IbWorlds(std::optional<proto::ib::Transport> transport, WantedControl congestion)
        : transport_(transport), congestion_(congestion) {}

    std::string run(std::uint64_t seed) const {
        const lab::IbWorldResult world =
            lab::run_ib_world({.seed = seed, .transport = transport_, .congestion = congestion_});
        const Json text = {world.asked,  world.failed,    world.delivered,  world.lost,
                           world.frames, world.faults,    world.recoveries, world.violation,
                           world.what,   world.controlled};
        return text.dump();
    }
    std::string add(std::uint64_t seed, const std::string& text) {
        const Json figures = Json::parse(text);
        const lab::IbWorldResult world{.seed = seed,
                                       .what = figures.at(8),
                                       .violation = figures.at(7),
                                       .controlled = figures.at(9),
                                       .asked = figures.at(0),
                                       .failed = figures.at(1),
                                       .delivered = figures.at(2),
                                       .lost = figures.at(3),
                                       .frames = figures.at(4),
                                       .faults = figures.at(5),
                                       .recoveries = figures.at(6)};
        summary_.add(world);
        return broken(world.violation, world.what);
    }
    std::uint64_t worlds() const { return summary_.worlds; }
    std::uint64_t failed() const { return summary_.broken; }
    std::uint64_t controlled() const { return summary_.controlled; }
    void add_to(Json& out) const {
        const lab::IbWorldResult& sum = summary_.sum;
        out["operations"] = sum.asked;
        out["operations_failed"] = sum.failed;
        out["messages_delivered"] = sum.delivered;
        out["messages_lost"] = sum.lost;
        out["frames"] = sum.frames;
        out["faults"] = sum.faults;
        out["recoveries"] = sum.recoveries;
        out["cost_max"] = summary_.cost_max;
        out["costliest_seed"] = summary_.costliest_seed;
    }
    std::string text() const {
        const lab::IbWorldResult& sum = summary_.sum;
        return fmt::format(
            "{} operations, {} of them failed for want of an answer;\n"
            "{} messages delivered, {} of UC lost; {} frames, {} faults,\n"
            "{} recoveries: at worst {:.2f} for a fault (seed {})\n",
            sum.asked, sum.failed, sum.delivered, sum.lost, sum.frames, sum.faults, sum.recoveries,
            summary_.cost_max, summary_.costliest_seed);
    }

private:
    std::optional<proto::ib::Transport> transport_;
    WantedControl congestion_;
    lab::IbWorldsSummary summary_;
};

struct SoakVerb {
    std::string protocol = "sp-am";
    std::string congestion;  // empty: each world draws its own
    std::uint64_t worlds = 0;
    double seconds = 0;
    std::uint64_t seed = 0;
    bool json = false;
    Timing timing;

    int run() {
        catch_interrupts();
        timing.start();
        farm::Farm farm = farm_of("soak", true);
        if (!farm.is_rank_0()) return help(farm, help_with_soak);
        seed = chosen_seed(seed);
        if (protocol == "sp-am") return simulate(AmWorlds(control()), farm);
        return simulate(IbWorlds(transport(), control()), farm);
    }

    /// For the ranks other than 0. Protocol, seed and congestion control are those of rank 0.
    static void help_with_soak(farm::Farm& farm) {
        const auto setup = farm.await_setup();
        if (!setup) return;
        SoakVerb soak;
        const Json given = Json::parse(*setup);
        soak.protocol = given.at(0);
        soak.seed = given.at(1);
        soak.congestion = given.at(2);
        farm.work(soak.protocol == "sp-am"
                      ? soak.work_on(AmWorlds(soak.control()))
                      : soak.work_on(IbWorlds(soak.transport(), soak.control())));
    }

    template <class Worlds>
    farm::Work work_on(const Worlds& worlds_of) const {
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
    int simulate(Worlds summary, farm::Farm& farm) {
        using Clock = std::chrono::steady_clock;
        if (worlds == 0) {
            worlds = seconds > 0 ? std::numeric_limits<std::uint64_t>::max() : 1'000;
        }
        const auto start = Clock::now();
        const auto passed = [start] {
            return std::chrono::duration<double>(Clock::now() - start).count();
        };
        std::string violation;
        farm::InOrder<std::string> results;
        const auto take = [&](farm::Dealing& dealing, std::uint64_t task, std::string text) {
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
                dealing.end_at(world + 1);
            }
        };
        {
            const bool timed = seconds > 0;
            Progress progress("worlds", timed ? static_cast<std::uint64_t>(seconds * 10) : worlds,
                              timed ? "" : "worlds");
            const auto turn = [&](farm::Dealing& dealing) {
                if (timed && passed() >= seconds) dealing.end_at(dealing.undealt());
                if (farm.size() > 1) progress.set_note(fmt::format("{} ranks", dealing.ranks()));
                progress.show(timed ? static_cast<std::uint64_t>(passed() * 10)
                                    : dealing.results());
            };
            farm.deal({.setup = Json{protocol, seed, congestion}.dump(),
                       .tasks = worlds,
                       .work = work_on(summary),
                       .take = take,
                       .turn = turn});
        }
        report(summary, violation);
        if (violation.empty()) return 0;
        throw Failure(violation);
    }

    template <class Worlds>
    void report(const Worlds& summary, const std::string& violation) const {
        const std::optional<double> took = timing.seconds();
        if (json) {
            Json out;
            out["schema"] = "wireproof.soak/1";
            out["protocol"] = protocol;
            out["seed"] = seed;
            out["worlds"] = summary.worlds();
            out["failed"] = summary.failed();
            out["congestion_controlled"] = summary.controlled();
            summary.add_to(out);
            out["seconds"] = took ? Json(*took) : Json();
            if (!violation.empty()) out["error"] = violation;
            print_result(out.dump() + "\n");
            return;
        }
        print_result(fmt::format(
            "{} worlds from seed {}{}: {} failed\n{} of them with congestion control\n{}",
            summary.worlds(), seed, took ? fmt::format(" in {:.1f} s", *took) : "",
            summary.failed(), summary.controlled(), summary.text()));
    }
};

}  // namespace

void add_soak(CLI::App& app, Run& run) {
    const auto soak = std::make_shared<SoakVerb>();
    CLI::App* verb = app.add_subcommand("soak", "simulate random worlds until one breaks a rule");
    constexpr auto any = std::numeric_limits<std::uint64_t>::max();
    verb->add_option("--protocol", soak->protocol, "sp-am, rc, uc, or ib: queue pairs of rc and uc")
        ->type_name("NAME")
        ->check(CLI::IsMember({"sp-am", "rc", "uc", "ib"}))
        ->capture_default_str();
    verb->add_option("--congestion", soak->congestion,
                     "control of rc, and of sp-am with selective\n"
                     "recovery; else each world draws its own")
        ->type_name("KIND")
        ->check(CLI::IsMember(std::vector<std::string>(congestion::kind_names.begin(),
                                                       congestion::kind_names.end())));
    accept_whole(
        *verb->add_option("--worlds", soak->worlds, "how many (1000 if neither this nor --seconds)")
             ->type_name("N"),
        1, any);
    accept_range(*verb->add_option("--seconds", soak->seconds, "for how long")->type_name("S"), 0.1,
                 1e7);
    accept_whole(*verb->add_option("--seed", soak->seed, "of the first world; the others follow")
                      ->type_name("N"),
                 0, any);
    soak->timing.add(*verb);
    verb->add_flag("--json", soak->json, "print one JSON object (schema wireproof.soak/1)");
    verb->footer(soak_examples);
    verb->callback([soak, &run] { run = [soak] { return soak->run(); }; });
}

}  // namespace wireproof::cli
