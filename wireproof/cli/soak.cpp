// Random simulated worlds, one seed after another, until one breaks a rule.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <chrono>
#include <limits>

#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/interrupt.hpp"
#include "wireproof/cli/progress.hpp"
#include "wireproof/cli/verbs.hpp"
#include "wireproof/lab/am_world.hpp"

namespace wireproof::cli {
namespace {

constexpr auto examples = R"(Examples:
  wireproof soak --worlds 10000
  wireproof soak --seconds 28800
  wireproof soak --worlds 1 --seed 4711     repeats one world

Exit code 0: every world kept every rule; 1: one did not, and is named.)";

struct SoakVerb {
    std::uint64_t worlds = 0;
    double seconds = 0;
    std::uint64_t seed = 0;
    bool json = false;

    int run() {
        using Clock = std::chrono::steady_clock;
        catch_interrupts();
        seed = chosen_seed(seed);
        if (worlds == 0) {
            worlds = seconds > 0 ? std::numeric_limits<std::uint64_t>::max() : 1'000;
        }
        const auto start = Clock::now();
        const auto passed = [start] {
            return std::chrono::duration<double>(Clock::now() - start).count();
        };
        lab::AmWorldsSummary summary;
        std::string violation;
        {
            Progress progress("worlds",
                              seconds > 0 ? static_cast<std::uint64_t>(seconds * 10) : worlds);
            for (std::uint64_t i = 0; i < worlds && violation.empty(); ++i) {
                check_interrupt();
                if (seconds > 0 && passed() >= seconds) break;
                const lab::AmWorldResult result = lab::run_am_world({.seed = seed + i});
                summary.add(result);
                progress.show(seconds > 0 ? static_cast<std::uint64_t>(passed() * 10) : i);
                if (!result.ok()) {
                    violation = fmt::format("{} ({}); repeat: wireproof soak --worlds 1 --seed {}",
                                            result.violation, result.what, seed + i);
                }
            }
        }
        report(summary, passed());
        if (violation.empty()) return 0;
        throw Failure(violation);
    }

    void report(const lab::AmWorldsSummary& summary, double took) const {
        if (json) {
            nlohmann::ordered_json out;
            out["schema"] = "wireproof.soak/1";
            out["seed"] = seed;
            out["worlds"] = summary.worlds;
            out["failed"] = summary.failed;
            out["operations"] = summary.operations;
            out["frames"] = summary.frames;
            out["cost_mean"] = summary.cost_mean();
            out["cost_max"] = summary.cost_max;
            out["costliest_seed"] = summary.costliest_seed;
            out["seconds"] = took;
            fmt::print("{}\n", out.dump());
            return;
        }
        fmt::print("{} worlds from seed {} in {:.1f} s: {} failed\n", summary.worlds, seed, took,
                   summary.failed);
        fmt::print(
            "{} operations, {} frames; packets sent for one needed: {:.2f} on average,\n"
            "{:.2f} at worst (seed {})\n",
            summary.operations, summary.frames, summary.cost_mean(), summary.cost_max,
            summary.costliest_seed);
    }
};

}  // namespace

void add_soak(CLI::App& app, Run& run) {
    const auto soak = std::make_shared<SoakVerb>();
    CLI::App* verb = app.add_subcommand("soak", "simulate random worlds until one breaks a rule");
    constexpr auto any = std::numeric_limits<std::uint64_t>::max();
    accept_whole(
        *verb->add_option("--worlds", soak->worlds, "how many (1000 if neither this nor --seconds)")
             ->type_name("N"),
        1, any);
    accept_range(*verb->add_option("--seconds", soak->seconds, "for how long")->type_name("S"), 0.1,
                 1e7);
    accept_whole(*verb->add_option("--seed", soak->seed, "of the first world; the others follow")
                      ->type_name("N"),
                 0, any);
    verb->add_flag("--json", soak->json, "print one JSON object (schema wireproof.soak/1)");
    verb->footer(examples);
    verb->callback([soak, &run] { run = [soak] { return soak->run(); }; });
}

}  // namespace wireproof::cli
