// The figures of docs/guide/links: link-retry.md and the four pages that belong to it; one of
// docs/reference/performance.md.
#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>

#include "tests/docs/document.hpp"

#include "wireproof/lab/ladder/ladder_render.hpp"
#include "wireproof/lab/line/unit_line.hpp"
#include "wireproof/lab/link_retry/retry_crossover.hpp"
#include "wireproof/lab/link_retry/retry_ladder.hpp"
#include "wireproof/lab/link_retry/retry_paper.hpp"
#include "wireproof/lab/link_retry/retry_presets.hpp"

namespace wireproof::lab {
namespace {

/// A page of docs/guide/links, read once.
const docs::Document& page(const std::string& name) {
    static std::map<std::string, docs::Document> pages;
    return pages.try_emplace(name, "guide/links/" + name + ".md").first->second;
}

const docs::Document& model() {
    return page("link-retry");
}
const docs::Document& forms() {
    return page("closed-forms");
}
const docs::Document& comparison() {
    return page("comparison");
}
const docs::Document& sweeps() {
    return page("sweeps");
}
const docs::Document& advice() {
    return page("advice");
}

RetryPoint closed(const RetrySettings& settings) {
    return foreseen_point(settings).value();
}

RetryCurve curve_of(RetryProtocol protocol) {
    const RetryLink link = resolve({.protocol = protocol, .clean_back = true}).value();
    return {link.scheme, link.unit, link.costs};
}

double crossover_of(const std::array<RetryCurve, 2>& curves) {
    return crossover(curves[0], curves[1]).value();
}

double crossover_as_specified(double loop) {
    return crossover_of(closed_forms_of(crossover_sides(loop, loop, false)).value());
}

TEST(LinkRetryPage, HasTheLengthsOfTheEnginesUnits) {
    const auto overhead = [](RetryProtocol protocol) {
        return resolve({.protocol = protocol, .payload = 256})->unit.overhead;
    };
    model().expect_figures("packet with the SP2's (\\d+)-byte header",
                           {overhead(RetryProtocol::sp_am)});
    const auto parts = model().groups(
        "one with a header of (\\d+) bytes and (\\d+) around it on Ethernet \\(preamble and gap "
        "(\\d+), header and frame check (\\d+), IP and UDP (\\d+)\\)");
    ASSERT_EQ(parts.size(), 5U);
    EXPECT_EQ(std::stod(parts[0]) + std::stod(parts[1]), overhead(RetryProtocol::sp_am_selective));
    EXPECT_EQ(std::stod(parts[1]), std::stod(parts[2]) + std::stod(parts[3]) + std::stod(parts[4]));
    model().expect_figures("pad and CRCs, (\\d+) bytes for a payload of whole words",
                           {overhead(RetryProtocol::rc)});
    EXPECT_EQ(overhead(RetryProtocol::uc), overhead(RetryProtocol::rc));
    const auto timeout = [](std::uint64_t timer) {
        return static_cast<double>(
            resolve({.protocol = RetryProtocol::rc, .payload = 256, .timer = timer})->timer);
    };
    model().expect_figures("a byte takes a nanosecond: (\\d+) bytes, (\\d+ \\d+) and so on",
                           {timeout(1), timeout(8193)});
}

TEST(LinkRetryPage, HasTheFailuresOfFlits) {
    const UnitLineTerms flit;
    UnitLineTerms plain = flit;
    plain.corrects = false;
    for (const auto& [text, rate] : {std::pair{"1e-8", 1e-8}, std::pair{"1e-6", 1e-6},
                                     std::pair{"1e-5", 1e-5}, std::pair{"1e-4", 1e-4}}) {
        model().expect_figures(
            "\\| " + std::string(text) + " \\| (\\d\\.[\\de-]+) \\| (\\d\\.[\\de-]+) \\|",
            {unit_failure(plain, rate), unit_failure(flit, rate)});
    }
    std::vector<double> two_fail;
    for (const std::uint32_t bits : {1U, 2U, 4U, 8U, 16U}) {
        constexpr double rare = 1e-9;
        UnitLineTerms bursts = flit;
        bursts.burst_bits = bits;
        two_fail.push_back(unit_failure(bursts, rare) / std::pow(2048 * rare, 2) * 2);
    }
    model().expect_figures(
        "a probability of (0\\.\\d+) for 1 bit, (0\\.\\d+) for 2, (0\\.\\d+) for 4, (0\\.\\d+) for "
        "8 and (0\\.\\d+) for 16 bits",
        two_fail);
}

TEST(AdvicePage, HasTheRateOfUndetectedErrors) {
    const UnitLineTerms flit;
    advice().expect_figures("of the line: ([\\de.-]+) at a bit error rate of 1e-6 and 128 GB/s",
                            {failures_in_time(flit, 1e-6, 128e9)});
}

TEST(ClosedFormsPage, HasTheExampleOfTheTermForPatientNotices) {
    const FailureCosts costs{.by_notice = 2, .head_timer = 5};
    const auto ratio = [&costs](RetryScheme scheme, double p) {
        return resend_ratio(scheme, p, costs);
    };
    const auto term = [&ratio](double p) {
        return ratio(RetryScheme::patient_notice, p) - ratio(RetryScheme::one_notice, p);
    };
    forms().expect_figures(
        "At p = 0\\.3 with N = 2 and M2 = 5 this is ([\\d.]+) of ([\\d.]+); at p = 0\\.03 "
        "([\\d.]+) %",
        {term(0.3), ratio(RetryScheme::patient_notice, 0.3),
         100 * term(0.03) / ratio(RetryScheme::patient_notice, 0.03)});
}

TEST(ClosedFormsPage, HasTheClosedFormsOverTheErrorRates) {
    for (int power = 16; power >= 7; --power) {
        const std::string rate = "1e-" + std::to_string(power);
        RetrySettings settings{.bit_error = std::stod(rate), .clean_back = true};
        std::vector<double> ratios;
        settings.protocol = *retry_protocol("ue-llr");
        settings.loop = 4'116;
        for (const std::uint32_t payload : {44U, 1480U, 4096U}) {
            settings.payload = payload;
            ratios.push_back(closed(settings).closed_ratio().value());
        }
        settings.protocol = *retry_protocol("flit");
        settings.payload = 235;
        for (const RetryFec fec : {RetryFec::off, RetryFec::on}) {
            settings.fec = fec;
            for (const std::uint64_t loop : {2'000U, 12'800U, 25'600U}) {
                settings.loop = loop;
                ratios.push_back(closed(settings).closed_ratio().value());
            }
        }
        std::string row = "\\| `" + rate + "`";
        for (std::size_t i = 0; i < ratios.size(); ++i) row += " \\| (\\d[\\d.e-]+)\\*?";
        forms().expect_figures(row + " \\|", ratios);
    }
}

TEST(ComparisonPage, SaysWhichProtocolIsBestWhere) {
    const auto etr = [](RetryProtocol protocol, double bit_error) {
        return closed({.protocol = protocol, .bit_error = bit_error}).closed_etr().value();
    };
    comparison().expect_figures(
        "without errors decides, ([\\d.]+) % \\(packets\\) to (\\d+) %",
        {100 * etr(RetryProtocol::pcie, 0), 100 * etr(RetryProtocol::hippi6400, 0)});
    EXPECT_LT(1 - etr(RetryProtocol::pcie, 1e-7) / etr(RetryProtocol::pcie, 0), 0.01);
    comparison().expect_figures(
        "worst that PCIe 1 to 5 permit, (\\d+) packets in 10\\^8 are sent in vain",
        {1e8 * closed({.bit_error = 1e-12}).closed_ratio().value()});
    comparison().expect_figures(
        "at 2e-6 selective repeat is worth (\\d+) points of ETR",
        {100 * (etr(RetryProtocol::ideal, 2e-6) - etr(RetryProtocol::pcie, 2e-6))});
    comparison().expect_figures(
        "loses to micropackets from ([\\d.e-]+); with a report of every failure it holds out until "
        "([\\d.e-]+)\\. ",
        {crossover_as_specified(paper::equal_loop),
         crossover_of(paper::curves_with_loop(paper::equal_loop))});
    comparison().expect_figures(
        "selective repeat of 4096 bytes falls behind micropackets near ([\\d.e-]+):",
        {crossover_of({curve_of(RetryProtocol::ideal), curve_of(RetryProtocol::hippi6400)})});
}

TEST(ComparisonPage, SaysBetweenWhichRatesItDependsOnTheLoop) {
    double low = 1;
    double high = 0;
    for (double loop = 2'000; loop <= 50'000; loop += 4) {
        const double at_loop = crossover_of(paper::curves_with_loop(loop));
        low = std::min(low, at_loop);
        high = std::max(high, at_loop);
    }
    const auto [lowest, highest] = paper::crossovers_with_loops(2'000, 50'000);
    EXPECT_NEAR(lowest / low, 1, 1e-3);
    EXPECT_NEAR(highest / high, 1, 1e-3);
    comparison().expect_figures(
        "is reported to the sender, it is between ([\\d.e-]+) and ([\\d.e-]+) for any loop of 2000 "
        "to 50 000 bytes",
        {low, high});
    const auto rates = comparison().groups(
        "\\| 1e-7 to ([\\d.e-]+) \\| Large packets .* \\| ([\\d.e-]+) to ([\\d.e-]+) \\| It "
        "depends on the loop");
    ASSERT_EQ(rates.size(), 3U);
    EXPECT_EQ(rates[0], rates[1]);
    EXPECT_LE(std::stod(rates[1]), std::min(low, crossover_as_specified(paper::equal_loop)));
    EXPECT_GE(std::stod(rates[2]), high);
}

TEST(ComparisonPage, HasTheBestPayloads) {
    comparison().expect_figures(
        "best payload is (\\d+) bytes at 1e-6, (\\d+) at 1e-5 and (\\d+) at 1e-4",
        {best_payload(1e-6, 28, 2000), best_payload(1e-5, 28, 2000), best_payload(1e-4, 28, 2000)});
}

TEST(ComparisonPage, SaysHowFarMicropacketsReach) {
    const auto window =
        static_cast<double>(resolve({.protocol = RetryProtocol::hippi6400})->buffer);
    comparison().expect_figures(
        "so (\\d+) of them are under way, at most (\\d+): (\\d+) bytes, or (\\d+ \\d+)\\. On a "
        "loop of 16 000 bytes 127 leave (\\d+) % of the line idle",
        {window, 254, window * 40, 254 * 40, 100 * (1 - window_throughput(window, 16'000, 40))});
    EXPECT_TRUE(resolve({.protocol = RetryProtocol::hippi6400, .buffer = 254}));
    EXPECT_FALSE(resolve({.protocol = RetryProtocol::hippi6400, .buffer = 255}));
}

TEST(ComparisonPage, HasTheCrossovers) {
    comparison().expect_figures("\\| as printed \\| ([\\d.e-]+) \\|", {paper::printed_crossover});
    comparison().expect_figures("\\| the paper's own arithmetic, done exactly \\| ([\\d.e-]+) \\|",
                                {paper::message_bit_error(paper::equal_message_error())});
    comparison().expect_figures(
        "\\| the paper's loops, errors of method taken out \\| ([\\d.e-]+) \\|",
        {crossover_of(paper::corrected_curves())});
    comparison().expect_figures(
        "\\| equal loops of 2000 bytes, the fair comparison \\| ([\\d.e-]+) \\|",
        {crossover_of(paper::curves_with_loop(paper::equal_loop))});
    comparison().expect_figures("packets lose earlier: ([\\d.e-]+) for equal loops",
                                {crossover_as_specified(paper::equal_loop)});
    comparison().expect_figures(
        "The loop of one side is (\\d+ \\d+) bytes, that of the other (\\d+),",
        {paper::tlps_lost * paper::tlp.bytes(),
         paper::micropackets_lost * paper::micropacket.bytes()});
}

TEST(LinkRetryPage, HasTheFirstFailureAsItIsDrawn) {
    const std::string ladder = text_of(run_retry_ladder({.bit_error = 1e-6}, {}).value());
    std::istringstream lines(ladder);
    std::string indented;
    for (std::string line; std::getline(lines, line);) {
        indented += line.empty() ? "\n" : "    " + line + "\n";
    }
    EXPECT_NE(model().text().find("\n" + indented), std::string::npos) << indented;
}

TEST(SweepsPage, HasTheFiguresOfThePresets) {
    const auto per_end = [](const char* name, double width) {
        return static_cast<double>(retry_preset(name)->settings.loop) / 2 / width;
    };
    sweeps().expect_figures(
        "both ends' InternalDelay: (\\d+), (\\d+), (\\d+) symbol times each",
        {per_end("pcie-gen1-x4", 4), per_end("pcie-gen2-x16", 16), per_end("pcie-gen3-x1", 1)});
    const RetryPreset& sp2 = *retry_preset("sp2");
    sweeps().expect_figures(
        "\\| `sp2` \\| (\\d+) MB/s, packets of 256 bytes, window (\\d+) \\| (\\d+) us, the bare "
        "round trip \\| (\\d+) us \\|",
        {sp2.bytes_per_second / 1e6, static_cast<double>(sp2.settings.buffer),
         sp2.nanoseconds(static_cast<double>(sp2.settings.loop)) / 1e3,
         sp2.nanoseconds(static_cast<double>(sp2.settings.timer)) / 1e3});
    const RetryPreset& near = *retry_preset("hippi6400-40m");
    sweeps().expect_figures(
        "\\| `hippi6400-40m`, `-1km` \\| (\\d+) MB/s \\| (\\d+) ns a metre",
        {near.bytes_per_second / 1e6,
         (near.nanoseconds(static_cast<double>(near.settings.loop)) - near.nanoseconds(80)) / 80});
    const RetryPreset& ethernet = *retry_preset("ethernet-llr-100g-5m");
    sweeps().expect_figures(
        "and half of the (\\d+) bytes between two ordered sets",
        {2 * (static_cast<double>(ethernet.settings.loop) - ethernet.bytes_per_second * 50e-9)});
}

// The test checks the relative error only, because the time is a measurement of one machine.
TEST(PerformancePage, HasTheRelativeErrorOfTheRarestErrors) {
    const docs::Document performance("reference/performance.md");
    const auto point = run_retry_point({.bit_error = 1e-15}, {.packets = 1'000'000'000'000'000});
    performance.expect_figures("\\| 10\\^15 TLPs at 1e-15, to a relative error of ([\\d.]+) % \\|",
                               {100 * point->relative_error().value()});
}

}  // namespace
}  // namespace wireproof::lab
