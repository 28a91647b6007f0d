#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wireproof/app/common/provenance.hpp"
#include "wireproof/app/perf/perf_json.hpp"
#include "wireproof/app/perf/perf_plan.hpp"
#include "wireproof/app/perf/perf_text.hpp"
#include "wireproof/report/report_page.hpp"

namespace wireproof::app {
namespace {

using Json = nlohmann::ordered_json;

std::string main_unit(const PerfPlan& plan) {
    if (plan.op == PerfOp::request_reply) return "ns";
    return plan.op == PerfOp::stream ? "messages/s" : "B/s";
}

std::string main_text(const PerfPlan& plan, double value) {
    if (plan.op == PerfOp::request_reply) return perf_ns(value);
    return perf_scaled(value) + (plan.op == PerfOp::stream ? "/s" : "B/s");
}

std::string what(const PerfPlan& plan) {
    std::string text = fmt::format("sp-am over {}, {}", plan.wire_name(), plan.op_name());
    if (plan.wire == PerfWire::udp) text += fmt::format(", mtu {}", plan.mtu);
    if (plan.wire == PerfWire::shm && !plan.sends_messages()) {
        text += plan.private_memory ? ", private memory" : ", shared memory";
    }
    if (plan.op == PerfOp::stream) text += fmt::format(", {} a poll", plan.per_poll);
    if (plan.in_flight > 0) text += fmt::format(", {} in flight", plan.in_flight);
    if (plan.loss > 0) text += fmt::format(", loss {:g} %", plan.loss * 100);
    if (plan.controls_congestion()) {
        text += fmt::format(", congestion control by {}", name_of(plan.congestion_control()));
    }
    if (plan.trust_payload) text += ", payload trusted";
    return text;
}

std::vector<std::string> head_of(const PerfPlan& plan) {
    if (plan.op == PerfOp::request_reply) {
        return {"size", "p50 half RTT", "mean", "p99", "p99.9", "resent", "limit", "ratio"};
    }
    if (plan.op == PerfOp::stream) {
        return {"size", "messages", "bytes", "1 a poll", "resent", "limit", "ratio"};
    }
    return {"size", "bytes", "operations", "travelled", "resent", "limit", "ratio"};
}

std::vector<std::string> row_of(const PerfPlan& plan, const PerfRun& run) {
    const auto ratio = run.ratio ? fmt::format("{:.2f}", *run.ratio) : "-";
    const auto limit = run.limit ? main_text(plan, *run.limit) : "-";
    const auto resent = fmt::format("{}", run.resent);
    if (plan.op == PerfOp::request_reply) {
        const auto& half = *run.half_rtt_ns;
        return {perf_size(run.size),
                perf_ns(half.p50),
                perf_ns(half.mean),
                perf_ns(half.p99),
                perf_ns(half.p999),
                resent,
                limit,
                ratio};
    }
    const std::string messages = perf_scaled(*run.messages_per_s) + "/s";
    const std::string bytes = perf_scaled(*run.bytes_per_s) + "B/s";
    if (plan.op == PerfOp::stream) {
        return {perf_size(run.size),
                messages,
                bytes,
                run.one_per_poll ? perf_scaled(*run.one_per_poll) + "/s" : "-",
                resent,
                limit,
                ratio};
    }
    return {perf_size(run.size), bytes, messages, run.how, resent, limit, ratio};
}

std::string conditions(const PerfPlan& plan, const PerfReport& report) {
    double cpu = 0;
    for (const PerfRun& run : report.runs) cpu += run.cpu_seconds;
    const std::string trust =
        plan.trust_payload
            ? "Bytes of stores and gets are trusted to the carrier: no CRC of them.\n"
            : "";
    return trust + fmt::format(
                       "Medians of {} rounds of {:g} ms, each followed by one of the limit:\n{}.\n"
                       "CPU time of both ends while measured: {:.2f} s. Seed {}.\n",
                       plan.rounds, plan.slice_seconds * 1000, report.limit_name, cpu, plan.seed);
}

}  // namespace

std::string perf_table(const PerfPlan& plan, const PerfReport& report) {
    std::vector<std::vector<std::string>> lines{head_of(plan)};
    for (const PerfRun& run : report.runs) lines.push_back(row_of(plan, run));
    return what(plan) + "\n\n" + perf_lines(lines) + "\n" + conditions(plan, report);
}

std::string perf_json(const PerfPlan& plan, const PerfReport& report) {
    Json json;
    json["schema"] = "wireproof.perf/1";
    json["seed"] = plan.seed;
    json["runs"] = Json::array();
    Json also = Json::array();
    for (const PerfRun& run : report.runs) {
        Json one;
        one["protocol"] = "sp-am";
        one["wire"] = plan.wire_name();
        one["op"] = plan.op_name();
        one["size"] = run.size;
        one["half_rtt_ns"] = json_of(run.half_rtt_ns);
        one["messages_per_s"] = json_of(run.messages_per_s);
        one["bytes_per_s"] = json_of(run.bytes_per_s);
        one["cpu_seconds"] = perf_rounded(run.cpu_seconds);
        one["resent"] = run.resent;
        one["limit"] = json_of(run.limit);
        one["ratio"] = json_of(run.ratio);
        one["loss"] = plan.loss;
        one["rounds"] = run.rounds;
        if (!run.how.empty()) one["travelled"] = run.how;
        json["runs"].push_back(std::move(one));
        if (run.one_per_poll) {
            also.push_back({{"what", "one request a poll"},
                            {"size", run.size},
                            {"messages_per_s", perf_rounded(*run.one_per_poll)}});
        }
    }
    also.push_back({{"what", "limit"}, {"is", report.limit_name}, {"unit", main_unit(plan)}});
    if (plan.wire == PerfWire::udp) {
        also.push_back(
            {{"what", "congestion control"},
             {"on", plan.controls_congestion()},
             {"by", plan.controls_congestion() ? name_of(plan.congestion_control()) : "none"}});
        also.push_back({{"what", "payload"},
                        {"is", plan.trust_payload ? "trusted to the carrier" : "checked"}});
    }
    json["also"] = std::move(also);
    return json.dump() + "\n";
}

std::string perf_html(const PerfPlan& plan, const PerfReport& report) {
    report::ReportPage page("wireproof perf: " + what(plan));
    page.add_text(conditions(plan, report));
    page.add_terms(provenance());
    report::ReportTable table;
    table.head = head_of(plan);
    report::ReportPlot main;
    report::ReportPlot ratio;
    const bool latency = plan.op == PerfOp::request_reply;
    main.title = latency ? "Half a round trip over size" : "Rate over size";
    main.x_name = ratio.x_name = "bytes";
    main.y_name = main_unit(plan);
    main.log_x = ratio.log_x = true;
    main.log_y = true;
    std::vector<report::ReportPlot::Series> series;
    if (latency) {
        series = {{"p50", {}}, {"p99", {}}, {"p99.9", {}}, {report.limit_name, {}}};
    } else {
        series = {{"sp-am", {}}, {report.limit_name, {}}};
    }
    report::ReportPlot::Series quotient{"ours / limit", {}};
    for (const PerfRun& run : report.runs) {
        table.rows.push_back(row_of(plan, run));
        main.x.push_back(static_cast<double>(run.size));
        ratio.x.push_back(static_cast<double>(run.size));
        quotient.values.push_back(run.ratio);
        series.back().values.push_back(run.limit);
        if (latency) {
            series[0].values.push_back(run.half_rtt_ns->p50);
            series[1].values.push_back(run.half_rtt_ns->p99);
            series[2].values.push_back(run.half_rtt_ns->p999);
        } else {
            series[0].values.push_back(plan.op == PerfOp::stream ? run.messages_per_s
                                                                 : run.bytes_per_s);
        }
    }
    page.add_table(table);
    main.series = std::move(series);
    page.add_plot(main);
    ratio.title = latency ? "Ratio to the limit (lower is better)" : "Ratio to the limit";
    ratio.y_name = "ours / limit";
    ratio.series.push_back(std::move(quotient));
    page.add_plot(ratio);
    return page.html();
}

}  // namespace wireproof::app
