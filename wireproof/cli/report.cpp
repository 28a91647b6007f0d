#include "wireproof/cli/report.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <optional>

#include "wireproof/app/common/text.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"

namespace wireproof::cli {
namespace {

std::string grouped(std::uint64_t value) {
    return app::grouped(fmt::format("{}", value));
}

double ratio(double part, double whole) {
    return whole > 0 ? part / whole : 0;
}

double goodput(const app::CarryResult& run) {
    return ratio(static_cast<double>(run.bytes), run.seconds);
}

/// The efficiency: the file's bytes divided by the bytes of all frames that its sender put on the
/// wire. The result is empty if the bytes did not travel in frames, but from memory to memory.
std::optional<double> etr(const app::CarryResult& run) {
    if (run.sender.bytes < run.bytes) return std::nullopt;
    return ratio(static_cast<double>(run.bytes), static_cast<double>(run.sender.bytes));
}

std::string etr_text(const app::CarryResult& run) {
    const auto value = etr(run);
    return value ? fmt::format("{:.3f}", *value) : "-";
}

std::string_view result_text(const app::CarryResult& run) {
    if (run.complete) return "verified";
    return run.verified && run.failure.empty() ? "in part" : "FAILED";
}

// The faults whose rates are not 0.
std::string described(const FaultRates& faults) {
    std::string text;
    const auto add = [&text](std::string_view what, double value, std::string_view unit) {
        if (value > 0)
            text += fmt::format("{}{} {:.3g}{}", text.empty() ? "" : ", ", what, value, unit);
    };
    add("loss", faults.loss * 100, " %");
    add("bit errors", faults.bit_error, "");
    add("duplicates", faults.duplicate * 100, " %");
    add("reordering", faults.reorder * 100, " %");
    return text.empty() ? "no faults" : text;
}

using Json = nlohmann::ordered_json;

Json json_of(const app::CarryResult& run) {
    const app::SideCounts& s = run.sender;
    const app::SideCounts& r = run.receiver;
    Json json = {{"protocol", run.protocol},
                 {"wire", run.wire},
                 {"verified", run.verified},
                 {"complete", run.complete},
                 {"bytes", run.bytes},
                 {"seconds", run.seconds},
                 {"goodput_bytes_per_s", goodput(run)},
                 {"frames",
                  {{"sent", s.frames + r.frames},
                   {"resent", s.resent + r.resent},
                   {"lost", s.lost + r.lost},
                   {"damaged", s.damaged + r.damaged},
                   {"duplicates", s.duplicated + r.duplicated}}},
                 {"control",
                  {{"acks", s.acks + r.acks},
                   {"naks", s.nacks + r.nacks},
                   {"keepalives", s.keepalives + r.keepalives}}},
                 {"timeouts", s.timeouts + r.timeouts}};
    if (run.messages) {
        json["messages"] = {{"sent", run.messages->sent},
                            {"delivered", run.messages->delivered},
                            {"abandoned", run.messages->abandoned()}};
    }
    if (run.sender_known) {
        const auto value = etr(run);
        json["etr"] = value ? Json(*value) : Json();
    }
    return json;
}

// The frames of one run, and what happened to them.
std::string table_of_one(const app::CarryResult& run) {
    const app::SideCounts& s = run.sender;
    const app::SideCounts& r = run.receiver;
    std::string text =
        fmt::format("{:<10}{:<5}{:<9}{:>9}{:>9}{:>11}{:>10}{:>7}{:>10}\n", "protocol", "wire",
                    "result", "seconds", "MB/s", "frames", "resent", "etr", "timeouts");
    text += fmt::format("{:<10}{:<5}{:<9}{:>9.3f}{:>9.1f}{:>11}{:>10}{:>7}{:>10}\n", run.protocol,
                        run.wire, result_text(run), run.seconds, goodput(run) / 1e6,
                        grouped(s.frames + r.frames), grouped(s.resent + r.resent), etr_text(run),
                        s.timeouts + r.timeouts);
    if (!etr(run)) {
        text += fmt::format("{:15}the bytes went from memory to memory, not in frames\n", "");
    }
    text +=
        fmt::format("{:15}wire: {} lost, {} damaged, {} duplicated\n", "", grouped(s.lost + r.lost),
                    grouped(s.damaged + r.damaged), grouped(s.duplicated + r.duplicated));
    if (run.messages) {
        text += fmt::format("{:15}messages: {} sent, {} delivered, {} abandoned\n", "",
                            grouped(run.messages->sent), grouped(run.messages->delivered),
                            grouped(run.messages->abandoned()));
    }
    text += fmt::format("{:15}control: {} acks, {} naks, {} keep-alives\n", "",
                        grouped(s.acks + r.acks), grouped(s.nacks + r.nacks),
                        grouped(s.keepalives + r.keepalives));
    return text;
}

// One line for each protocol, so that a reader can compare them. --json has all counts.
std::string table_of_several(const std::vector<app::CarryResult>& runs) {
    std::string text =
        fmt::format("{:<10}{:<9}{:>9}{:>9}{:>11}{:>8}{:>9}{:>6}{:>9}\n", "protocol", "result",
                    "seconds", "MB/s", "frames", "faults", "resent", "etr", "timeouts");
    for (const app::CarryResult& run : runs) {
        const app::SideCounts& s = run.sender;
        const app::SideCounts& r = run.receiver;
        const std::uint64_t faults =
            s.lost + r.lost + s.damaged + r.damaged + s.duplicated + r.duplicated;
        text += fmt::format("{:<10}{:<9}{:>9.3f}{:>9.1f}{:>11}{:>8}{:>9}{:>6}{:>9}\n", run.protocol,
                            result_text(run), run.seconds, goodput(run) / 1e6,
                            grouped(s.frames + r.frames), grouped(faults),
                            grouped(s.resent + r.resent), etr_text(run), s.timeouts + r.timeouts);
    }
    return text;
}

}  // namespace

std::string report_table(const app::CarryOptions& options, const Report& report) {
    constexpr std::size_t columns = 80;
    const std::string figures = fmt::format(": {} bytes, mtu {}, seed {}\n",
                                            grouped(report.file_bytes), options.mtu, options.seed);
    std::string text =
        app::shortened(app::one_line(report.file), columns + 1 - figures.size()) + figures;
    text += fmt::format("{}: {}\n\n", options.wire, described(options.faults));
    return text + (report.runs.size() == 1 ? table_of_one(report.runs.front())
                                           : table_of_several(report.runs));
}

std::string report_json(const app::CarryOptions& options, const Report& report) {
    const FaultRates& faults = options.faults;
    Json json;
    json["schema"] = report.schema;
    json["file"] = report.file;
    json["bytes"] = report.file_bytes;
    json["seed"] = options.seed;
    json["mtu"] = options.mtu;
    json["faults"] = {{"loss", faults.loss},
                      {"ber", faults.bit_error},
                      {"duplicate", faults.duplicate},
                      {"reorder", faults.reorder}};
    json["runs"] = Json::array();
    for (const app::CarryResult& run : report.runs) json["runs"].push_back(json_of(run));
    if (!report.error.empty()) json["error"] = report.error;
    // A file name may contain bytes that are not valid text.
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

int conclude(const app::CarryOptions& options, const Report& report) {
    const auto print = report.error.empty() ? print_result : print_result_of_failure;
    if (options.json) {
        print(report_json(options, report));
    } else if (!report.runs.empty()) {
        print(report_table(options, report));
    }
    if (report.error.empty()) return 0;
    app::tell("wireproof: " + report.error);
    return app::exit_failed;
}

}  // namespace wireproof::cli
