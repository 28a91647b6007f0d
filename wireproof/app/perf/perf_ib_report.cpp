#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <set>

#include "wireproof/app/common/provenance.hpp"
#include "wireproof/app/perf/perf_ib.hpp"
#include "wireproof/app/perf/perf_json.hpp"
#include "wireproof/app/perf/perf_text.hpp"
#include "wireproof/report/report_page.hpp"

namespace wireproof::app {

std::string name_of(PerfIbOp op) {
    constexpr std::array names = {"send", "write", "read", "fetch-add"};
    return names[static_cast<std::size_t>(op)];
}

namespace {

using OrderedJson = nlohmann::ordered_json;
using Lines = std::vector<std::vector<std::string>>;

std::string ib_title(const PerfPlan& plan, const PerfIbReport& report) {
    std::string text = fmt::format("{} over {}, path MTU {}", plan.protocol_name(),
                                   plan.wire_name(), report.path_mtu);
    if (plan.in_flight > 0) text += fmt::format(", {} in flight", plan.in_flight);
    if (plan.loss > 0) text += fmt::format(", loss {:g} %", plan.loss * 100);
    if (plan.controls_congestion()) {
        text += fmt::format(", congestion control by {}", name_of(plan.congestion_control()));
    }
    return text;
}

bool loses(const PerfPlan& plan) {
    return plan.protocol == PerfProtocol::uc;
}

std::string tally_head(const PerfPlan& plan) {
    return loses(plan) ? "lost" : "resent";
}

std::string tally_text(const PerfPlan& plan, const PerfIbRun::Tally& tally) {
    if (!loses(plan)) return fmt::format("{}", tally.resent);
    if (tally.lost == 0) return "0";
    const double share =
        static_cast<double>(tally.lost) / static_cast<double>(tally.messages) * 100;
    return fmt::format("{} ({:.{}f} %)", tally.lost, share, share < 9.95 ? 1 : 0);
}

std::string ratio_text(const std::optional<double>& ratio) {
    if (!ratio) return "-";
    return fmt::format("{:.{}f}", *ratio, *ratio < 0.0995 ? 3 : 2);
}

Lines latency_lines(const PerfPlan& plan, const PerfIbReport& report) {
    Lines lines{{"latency", "size", "p50", "mean", "p99", "limit", "ratio", tally_head(plan)}};
    for (const PerfIbRun& run : report.runs) {
        const auto time = [&](double PerfRun::Latency::*figure) {
            return run.latency_ns ? perf_ns((*run.latency_ns).*figure) : "-";
        };
        lines.push_back({name_of(run.op), perf_size(run.size), time(&PerfRun::Latency::p50),
                         time(&PerfRun::Latency::mean), time(&PerfRun::Latency::p99),
                         run.latency_limit_ns ? perf_ns(*run.latency_limit_ns) : "-",
                         ratio_text(run.latency_ratio()), tally_text(plan, run.latency_tally)});
    }
    return lines;
}

Lines rate_lines(const PerfPlan& plan, const PerfIbReport& report) {
    Lines lines{{"rate", "size", "messages", "bytes", "limit", "ratio", tally_head(plan)}};
    for (const PerfIbRun& run : report.runs) {
        lines.push_back({name_of(run.op), perf_size(run.size),
                         perf_scaled(run.messages_per_s) + "/s",
                         perf_scaled(run.bytes_per_s()) + "B/s",
                         run.limit_per_s ? perf_scaled(*run.limit_per_s) + "/s" : "-",
                         ratio_text(run.rate_ratio()), tally_text(plan, run.rate_tally)});
    }
    return lines;
}

std::string ib_conditions(const PerfPlan& plan, const PerfIbReport& report) {
    double cpu = 0;
    for (const PerfIbRun& run : report.runs)
        cpu += run.latency_tally.cpu_seconds + run.rate_tally.cpu_seconds;
    std::string text =
        plan.protocol == PerfProtocol::uc
            ? "Latency is half a round trip. Lost messages are in no figure but their own.\n"
            : "Latency is half a round trip of send and write, the whole of the others.\n";
    return text + fmt::format(
                      "Medians of {} rounds of {:g} ms each, in turns with the limits:\n"
                      "of latency, {};\n"
                      "of the rate, {}, one way.\n"
                      "CPU time of both ends while measured: {:.2f} s. Seed {}.\n",
                      plan.rounds, plan.slice_seconds * 1000, report.latency_limit_name,
                      report.rate_limit_name, cpu, plan.seed);
}

/// The fields that the latency and the rate of an operation share.
OrderedJson run_object(const PerfPlan& plan, const PerfIbRun& run, std::string_view measured,
                       const PerfIbRun::Tally& tally) {
    OrderedJson one;
    one["protocol"] = plan.protocol_name();
    one["wire"] = plan.wire_name();
    one["op"] = name_of(run.op);
    one["measured"] = measured;
    one["size"] = run.size;
    one["half_rtt_ns"] = nullptr;
    one["operation_ns"] = nullptr;
    one["messages_per_s"] = nullptr;
    one["bytes_per_s"] = nullptr;
    one["messages"] = tally.messages;
    one["lost"] = tally.lost;
    one["resent"] = tally.resent;
    one["cpu_seconds"] = perf_rounded(tally.cpu_seconds);
    one["loss"] = plan.loss;
    one["rounds"] = run.rounds;
    return one;
}

void add_plots(report::ReportPage& page, const PerfPlan& plan, const PerfIbReport& report) {
    std::set<std::size_t> sizes;
    for (const PerfIbRun& run : report.runs) sizes.insert(run.size);
    report::ReportPlot latency;
    latency.title = "Latency (p50) over size";
    latency.y_name = "ns";
    report::ReportPlot rate;
    rate.title = "Rate over size";
    rate.y_name = "messages/s";
    for (report::ReportPlot* const plot : {&latency, &rate}) {
        plot->x_name = "bytes";
        plot->log_x = plot->log_y = true;
        plot->x.assign(sizes.begin(), sizes.end());
    }
    for (const PerfIbOp op : plan.ib_ops) {
        report::ReportPlot::Series ours{name_of(op), {}};
        report::ReportPlot::Series bare{name_of(op) + ", limit", {}};
        report::ReportPlot::Series our_rate = ours;
        report::ReportPlot::Series bare_rate = bare;
        for (const std::size_t size : sizes) {
            const auto run = std::ranges::find_if(report.runs, [&](const PerfIbRun& one) {
                return one.op == op && one.size == size;
            });
            const bool there = run != report.runs.end();
            const auto add = [&](report::ReportPlot::Series& series, std::optional<double> value) {
                series.values.push_back(there ? value : std::nullopt);
            };
            add(ours,
                there && run->latency_ns ? std::optional(run->latency_ns->p50) : std::nullopt);
            add(bare, there ? run->latency_limit_ns : std::nullopt);
            add(our_rate, there && run->messages_per_s > 0 ? std::optional(run->messages_per_s)
                                                           : std::nullopt);
            add(bare_rate, there ? run->limit_per_s : std::nullopt);
        }
        latency.series.push_back(std::move(ours));
        latency.series.push_back(std::move(bare));
        rate.series.push_back(std::move(our_rate));
        rate.series.push_back(std::move(bare_rate));
    }
    page.add_plot(latency);
    page.add_plot(rate);
}

}  // namespace

std::string perf_ib_table(const PerfPlan& plan, const PerfIbReport& report) {
    return ib_title(plan, report) + "\n\n" + perf_lines(latency_lines(plan, report)) + "\n" +
           perf_lines(rate_lines(plan, report)) + "\n" + ib_conditions(plan, report);
}

std::string perf_ib_json(const PerfPlan& plan, const PerfIbReport& report) {
    OrderedJson json;
    json["schema"] = "wireproof.perf/1";
    json["seed"] = plan.seed;
    json["runs"] = OrderedJson::array();
    for (const PerfIbRun& run : report.runs) {
        OrderedJson latency = run_object(plan, run, "latency", run.latency_tally);
        latency[is_half_round_trip(run.op) ? "half_rtt_ns" : "operation_ns"] =
            json_of(run.latency_ns);
        latency["limit"] = json_of(run.latency_limit_ns);
        latency["ratio"] = json_of(run.latency_ratio());
        OrderedJson rate = run_object(plan, run, "rate", run.rate_tally);
        rate["messages_per_s"] = perf_rounded(run.messages_per_s);
        rate["bytes_per_s"] = perf_rounded(run.bytes_per_s());
        rate["limit"] = json_of(run.limit_per_s);
        rate["ratio"] = json_of(run.rate_ratio());
        rate["in_flight"] = perf_ib_in_flight(plan, run.op, run.size);
        json["runs"].push_back(std::move(latency));
        json["runs"].push_back(std::move(rate));
    }
    json["also"] = {
        {{"what", "limit of latency"}, {"is", report.latency_limit_name}, {"unit", "ns"}},
        {{"what", "limit of the rate"},
         {"is", report.rate_limit_name + ", one way"},
         {"unit", "messages/s"}},
        {{"what", "path MTU"}, {"bytes", report.path_mtu}}};
    return json.dump() + "\n";
}

std::string perf_ib_html(const PerfPlan& plan, const PerfIbReport& report) {
    report::ReportPage page("wireproof perf: " + ib_title(plan, report));
    page.add_text(ib_conditions(plan, report));
    page.add_terms(provenance());
    for (Lines lines : {latency_lines(plan, report), rate_lines(plan, report)}) {
        report::ReportTable table;
        table.head = std::move(lines.front());
        table.rows.assign(lines.begin() + 1, lines.end());
        page.add_table(table);
    }
    add_plots(page, plan, report);
    return page.html();
}

}  // namespace wireproof::app
