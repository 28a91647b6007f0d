#include "wireproof/app/sweep/sweep_paper.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wireproof/app/common/failure.hpp"
#include "wireproof/lab/link_retry/retry_paper.hpp"

namespace wireproof::app {
namespace {

namespace paper = lab::paper;

template <class T>
T value_of(const Expected<T>& result) {
    if (!result) throw Failure(result.error().message);
    return *result;
}

using Sides = std::array<lab::CrossoverSide, 2>;

SweepPaper::Crossover crossover_of(const std::array<lab::RetryCurve, 2>& curves, const Sides& sides,
                                   std::uint64_t seed) {
    const double closed = lab::crossover(curves[0], curves[1]).value();
    return {closed, value_of(lab::simulate_crossover(sides[0], sides[1], closed, seed))};
}

SweepPaper::Row row_at(double bit_error, std::uint64_t seed) {
    SweepPaper::Row row{.bit_error = bit_error};
    const auto curves = paper::corrected_curves();
    const auto sides = lab::crossover_sides(paper::tlp_loop, paper::micropacket_loop, true);
    for (std::size_t i = 0; i < 2; ++i) {
        row.closed_form[i] = curves[i].etr(bit_error);
        lab::RetrySettings settings = sides[i].settings;
        settings.bit_error = bit_error;
        row.simulated[i] =
            value_of(lab::run_retry_point(settings, {.relative_error = 0.03, .seed = seed})).etr();
    }
    return row;
}

}  // namespace

SweepPaper sweep_paper(std::uint64_t seed, const std::function<void(int)>& progress) {
    SweepPaper result;
    result.recomputed = paper::message_bit_error(paper::equal_message_error());
    constexpr std::array<double, 6> rates = {1e-15, 1e-9, 1e-7, 1e-6, 5e-6, 1.56e-5};
    for (std::size_t i = 0; i < rates.size(); ++i) {
        result.rows[i] = row_at(rates[i], seed + i);
        progress(0);
    }
    result.costs_corrected =
        crossover_of(paper::corrected_curves(),
                     lab::crossover_sides(paper::tlp_loop, paper::micropacket_loop, true), seed);
    progress(1);
    const double loop = paper::equal_loop;
    result.equal_loop_2000 = crossover_of(paper::curves_with_loop(loop),
                                          lab::crossover_sides(loop, loop, true), seed + 100);
    const Sides specified = lab::crossover_sides(loop, loop, false);
    result.equal_loop_as_specified =
        crossover_of(value_of(lab::closed_forms_of(specified)), specified, seed + 200);
    progress(2);
    return result;
}

std::string paper_json(const SweepPaper& result, std::uint64_t seed) {
    using Json = nlohmann::ordered_json;
    const auto crossover = [](const SweepPaper::Crossover& c) {
        return Json{{"closed_form", c.closed_form},
                    {"simulated", c.simulated.bit_error},
                    {"standard_error", c.simulated.standard_error}};
    };
    Json json = {{"schema", "wireproof.sweep.paper/2"}, {"seed", seed}};
    json["crossovers"] = {{"printed", paper::printed_crossover},
                          {"recomputed", result.recomputed},
                          {"costs_corrected", crossover(result.costs_corrected)},
                          {"equal_loop_2000", crossover(result.equal_loop_2000)},
                          {"equal_loop_as_specified", crossover(result.equal_loop_as_specified)}};
    for (const paper::Figure& figure : paper::figures()) {
        json["figures"].push_back({{"what", figure.what},
                                   {"printed", figure.printed},
                                   {"recomputed", figure.recomputed}});
    }
    for (const SweepPaper::Row& row : result.rows) {
        json["points"].push_back(
            {{"ber", row.bit_error},
             {"packet", {{"closed_form", row.closed_form[0]}, {"simulated", row.simulated[0]}}},
             {"micropacket",
              {{"closed_form", row.closed_form[1]}, {"simulated", row.simulated[1]}}}});
    }
    return json.dump() + "\n";
}

std::string paper_table(const SweepPaper& result, std::uint64_t seed) {
    std::string text =
        fmt::format("{:<46}{:>12}{:>14}\n", "section 5 of the paper", "printed", "recomputed");
    for (const paper::Figure& figure : paper::figures()) {
        text += fmt::format("{:<46}{:>12.4g}{:>14.5g}\n", figure.what, figure.printed,
                            figure.recomputed);
    }
    text += fmt::format("\n{:<10}{:>24}{:>30}\n{:<10}{:>12}{:>12}{:>18}{:>12}\n", "ETR with the",
                        "packets of 4096 bytes", "micropackets of 32 bytes", "bit errors",
                        "closed form", "simulated", "closed form", "simulated");
    for (const SweepPaper::Row& row : result.rows) {
        text +=
            fmt::format("{:<10.3g}{:>12.5f}{:>12.5f}{:>18.5f}{:>12.5f}\n", row.bit_error,
                        row.closed_form[0], row.simulated[0], row.closed_form[1], row.simulated[1]);
    }
    text += fmt::format("\n{:<46}{:>12}{:>14}\n", "bit error rate where both are equal",
                        "closed form", "simulated");
    text += fmt::format("{:<46}{:>12.4g}\n", "as printed", paper::printed_crossover);
    text +=
        fmt::format("{:<46}{:>12.5g}\n", "the paper's arithmetic, done exactly", result.recomputed);
    const auto line = [&text](const char* what, const SweepPaper::Crossover& c) {
        text += fmt::format("{:<46}{:>12.5g}{:>14.4g} +- {:.1f} %\n", what, c.closed_form,
                            c.simulated.bit_error,
                            100 * c.simulated.standard_error / c.simulated.bit_error);
    };
    line("the paper's loops, errors of method taken out", result.costs_corrected);
    line("equal loops of 2000 bytes", result.equal_loop_2000);
    line("the same, PCIe as specified (one Nak for a gap)", result.equal_loop_as_specified);
    return text + fmt::format("seed {}\n", seed);
}

}  // namespace wireproof::app
