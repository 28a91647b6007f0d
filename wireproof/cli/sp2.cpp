// Runs SP AM on a model of the IBM SP and compares it with the raw model and with the paper.
// Figures to which the model was fitted are marked: they prove nothing.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>

#include "wireproof/app/common/progress.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"
#include "wireproof/lab/sp2/sp2_figures.hpp"

namespace wireproof::cli {
namespace {

constexpr auto sp2_examples =
    R"(Figures are of pairs of nodes, all pairs at once; with an odd number of nodes
the last one takes part only in the exchange of all with all.

Examples:
  wireproof sp2
  wireproof sp2 --nodes 8
  wireproof sp2 --json | jq .round_trip_us

Exit code 0: every byte was right and both ratios hold; 1: not; 2: the command
line is wrong.)";

constexpr auto notes = R"(
fitted   costs of host and adapter, to the paper's raw 47 us; costs of the
         library, to its 51.0 us, its 175 us to send a chunk, and its times
         of calls and polls, which are recalled and unconfirmed
follows  from these costs, the link's 40 MB/s, the FIFOs and the protocol;
         the half-power point also from a store call assumed to cost what a
         request call does. The paper's (260) is unconfirmed. Nothing in the
         model costs SP AM the last 2 % of the link that the paper lacks.
)";

std::string row(const char* what, const std::string& here, const char* mark, const std::string& raw,
                const char* raw_mark, const std::string& paper) {
    return fmt::format("{:<26}{:>10}  {:<8}{:>10}  {:<8}{:>9}\n", what, here, mark, raw, raw_mark,
                       paper);
}

std::string table(const lab::Sp2Figures& figures) {
    std::string text =
        fmt::format("SP AM on a model of the IBM SP: {} nodes, {} pair{} at once\n\n",
                    figures.nodes, figures.pairs, figures.pairs == 1 ? "" : "s");
    text += row("", "SP AM", "", "raw model", "", "paper");
    text += row("one-word round trip, us", fmt::format("{:.2f}", figures.round_trip_us.mean),
                "fitted", fmt::format("{:.2f}", figures.raw_round_trip_us), "fitted",
                fmt::format("{:.1f}", lab::paper_round_trip_us));
    text += row("bandwidth, MB/s", fmt::format("{:.2f}", figures.bandwidth_mb_s.mean), "follows",
                fmt::format("{:.2f}", figures.raw_bandwidth_mb_s), "follows",
                fmt::format("{:.1f}", lab::paper_bandwidth_mb_s));
    text += row("half-power point, bytes", fmt::format("{}", figures.half_power.first), "follows",
                "-", "", fmt::format("({:.0f})", lab::paper_half_power_bytes));
    if (figures.half_power.for_good > figures.half_power.first) {
        text += fmt::format("{:26}{:>10}  and more: a second packet costs time\n", "",
                            figures.half_power.for_good);
    }
    if (figures.pairs > 1) {
        text += fmt::format("\nworst pair: {:.2f} us, {:.2f} MB/s\n", figures.round_trip_us.worst,
                            figures.bandwidth_mb_s.worst);
    }
    text += fmt::format("\nround trip / raw               {:.4f}  wanted: at most  {:.3f}  {}\n",
                        figures.round_trip_ratio(), lab::round_trip_limit,
                        figures.round_trip_ratio() <= lab::round_trip_limit ? "holds" : "FAILS");
    text += fmt::format("bandwidth / {:.1f} MB/s payload  {:.4f}  wanted: at least {:.3f}  {}\n",
                        figures.payload_share_mb_s, figures.bandwidth_ratio(), lab::bandwidth_limit,
                        figures.bandwidth_ratio() >= lab::bandwidth_limit ? "holds" : "FAILS");
    const lab::Sp2Exchanged& all = figures.exchanged;
    text += fmt::format("\nall to all: {} requests, as many replies, {} stores: {}\n", all.requests,
                        all.stores, figures.verified ? "verified" : "FAILED");
    return text + notes;
}

// More digits would be below the accuracy of the measurement.
double rounded(double value) {
    constexpr double scale = 1e4;
    return std::round(value * scale) / scale;
}

/// One line. The result is empty if every byte was right and both ratios hold.
std::string failure_of(const lab::Sp2Figures& figures) {
    const std::string& wrong = figures.exchanged.wrong;
    if (!figures.verified) {
        return "sp2: " +
               (wrong.empty()
                    ? "the bytes of a stream or of a round trip were not those that were sent"
                    : wrong);
    }
    return figures.holds() ? "" : "sp2: a ratio is beyond its limit";
}

std::string json_object(const lab::Sp2Figures& figures) {
    nlohmann::ordered_json json;
    json["schema"] = "wireproof.sp2/1";
    json["nodes"] = figures.nodes;
    json["round_trip_us"] = rounded(figures.round_trip_us.mean);
    json["raw_round_trip_us"] = rounded(figures.raw_round_trip_us);
    json["bandwidth_mb_s"] = rounded(figures.bandwidth_mb_s.mean);
    json["payload_share_mb_s"] = rounded(figures.payload_share_mb_s);
    json["half_power_bytes"] = figures.half_power.first;
    json["paper"] = {{"round_trip_us", lab::paper_round_trip_us},
                     {"bandwidth_mb_s", lab::paper_bandwidth_mb_s}};
    json["raw_bandwidth_mb_s"] = rounded(figures.raw_bandwidth_mb_s);
    json["half_power_for_good_bytes"] = figures.half_power.for_good;
    json["pairs"] = figures.pairs;
    json["worst_round_trip_us"] = rounded(figures.round_trip_us.worst);
    json["worst_bandwidth_mb_s"] = rounded(figures.bandwidth_mb_s.worst);
    json["verified"] = figures.verified;
    json["holds"] = figures.holds();
    const lab::Sp2Exchanged& all = figures.exchanged;
    json["all_to_all"] = {{"requests", all.requests}, {"replies", all.replies},
                          {"stores", all.stores},     {"packets", all.packets},
                          {"resent", all.resent},     {"overflows", all.overflows}};
    json["fitted"] = {"raw_round_trip_us", "round_trip_us"};
    json["follows"] = {"raw_bandwidth_mb_s", "bandwidth_mb_s", "half_power_bytes",
                       "half_power_for_good_bytes"};
    if (const std::string wrong = failure_of(figures); !wrong.empty()) json["error"] = wrong;
    return json.dump() + "\n";
}

struct Sp2Verb {
    std::size_t nodes = 2;
    bool json = false;

    int run() const {
        constexpr std::uint64_t steps = 1000;
        lab::Sp2Figures figures;
        {
            app::Progress bar("measuring", steps);
            figures = lab::measure_sp2(lab::Sp2AmConfig::of_nodes(nodes), [&](double part) {
                bar.show(static_cast<std::uint64_t>(part * steps));
            });
        }
        print_result(json ? json_object(figures) : table(figures));
        if (const std::string wrong = failure_of(figures); !wrong.empty())
            throw app::Failure(wrong);
        return 0;
    }
};

}  // namespace

void add_sp2(CLI::App& app, Run& run) {
    const auto sp2 = std::make_shared<Sp2Verb>();
    CLI::App* subcommand = app.add_subcommand("sp2", "run SP AM on a model of the IBM SP");
    accept_whole(
        *subcommand
             ->add_option("--nodes", sp2->nodes, "nodes of the machine, 2 to 64; pairs run at once")
             ->capture_default_str()
             ->type_name("N"),
        2, 64);
    subcommand->add_flag("--json", sp2->json, "print one JSON object (schema wireproof.sp2/1)");
    subcommand->footer(sp2_examples);
    subcommand->callback([sp2, &run] { run = [sp2] { return sp2->run(); }; });
}

}  // namespace wireproof::cli
