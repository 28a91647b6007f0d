// Simulates random worlds, one seed after the other, until one breaks a rule.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <limits>
#include <optional>

#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/cli/carry_options.hpp"
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

Exit code 0: every world kept every rule; 1: one did not, and is named.)";

using Json = nlohmann::ordered_json;

std::string broken(const std::string& violation, const std::string& what) {
    return violation.empty() ? "" : fmt::format("{} ({})", violation, what);
}

/// The kind of congestion control that the user wants in all worlds.
using WantedControl = std::optional<congestion::Kind>;

class AmWorlds {
public:
    explicit AmWorlds(WantedControl congestion) : congestion_(congestion) {}

    std::string run(std::uint64_t seed) {
        const lab::AmWorldResult result =
            lab::run_am_world({.seed = seed, .congestion = congestion_});
        summary_.add(result);
        return broken(result.violation, result.what);
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

    std::string run(std::uint64_t seed) {
        const lab::IbWorldResult result =
            lab::run_ib_world({.seed = seed, .transport = transport_, .congestion = congestion_});
        summary_.add(result);
        return broken(result.violation, result.what);
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
        seed = chosen_seed(seed);
        if (protocol == "sp-am") return simulate(AmWorlds(control()));
        return simulate(IbWorlds(transport(), control()));
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
    int simulate(Worlds summary) {
        using Clock = std::chrono::steady_clock;
        if (worlds == 0) {
            worlds = seconds > 0 ? std::numeric_limits<std::uint64_t>::max() : 1'000;
        }
        const auto start = Clock::now();
        const auto passed = [start] {
            return std::chrono::duration<double>(Clock::now() - start).count();
        };
        std::string violation;
        {
            const bool timed = seconds > 0;
            Progress progress("worlds", timed ? static_cast<std::uint64_t>(seconds * 10) : worlds,
                              timed ? "" : "worlds");
            for (std::uint64_t i = 0; i < worlds && violation.empty(); ++i) {
                check_interrupt();
                if (seconds > 0 && passed() >= seconds) break;
                violation = summary.run(seed + i);
                progress.show(timed ? static_cast<std::uint64_t>(passed() * 10) : i);
                if (violation.empty()) continue;
                violation += fmt::format(
                    "; repeat: wireproof soak --protocol {}{} --worlds 1 --seed {}", protocol,
                    congestion.empty() ? "" : " --congestion " + congestion, seed + i);
            }
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
