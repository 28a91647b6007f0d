// Draws a small exchange frame by frame, as text, picture, capture or JSON.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "wireproof/app/common/files.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/option_text.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/subcommands.hpp"
#include "wireproof/lab/ladder/built_in.hpp"
#include "wireproof/lab/ladder/ladder_render.hpp"
#include "wireproof/lab/ladder/scenario_file.hpp"

namespace wireproof::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr auto ladder_schema = "wireproof.ladder/1";

constexpr auto ladder_examples =
    R"(NAME is that of a built-in scenario (--list), or else a file;
share/doc/wireproof/guide/links/ladders.md says how to write one.

Examples:
  wireproof ladder --list
  wireproof ladder pcie-lost-tlp
  wireproof ladder hippi-lost-data --svg ladder.svg --pcapng ladder.pcapng
  wireproof ladder my.toml --json | jq '.events[] | select(.fate=="lost")'

Exit code 0: done; 1: no such scenario, it has a mistake, or a file cannot be
written; 2: the command line is wrong.)";

lab::Scenario scenario_of(std::string_view text, const std::string& file) {
    auto scenario = lab::read_scenario(text, file);
    if (!scenario) throw app::Failure(scenario.error().message);
    return *std::move(scenario);
}

lab::Scenario find_scenario(const std::string& name) {
    if (const lab::BuiltIn* built_in = lab::find_built_in(name)) {
        return scenario_of(built_in->text, name + ".toml");
    }
    const bool names_file = name.find_first_of("./") != std::string::npos;
    try {
        return scenario_of(app::text_of_file(name), name);
    } catch (const app::Failure& failure) {
        const std::string_view what = failure.what();
        if (names_file || !what.starts_with("cannot read ")) throw;
        throw app::Failure(fmt::format(
            "no scenario is called {} (wireproof ladder --list names them); {}", name, what));
    }
}

Json json_of(const lab::LadderFrame& frame) {
    Json event;
    event["time_ns"] = frame.time.nanoseconds();
    event["from"] = lab::name_of(frame.from);
    event["frame"] = frame.info.kind;
    if (frame.info.number) event["seq"] = *frame.info.number;
    if (const auto ack = frame.ack_besides()) event["ack"] = *ack;
    event["fate"] = frame.fate_word();
    event["resent"] = frame.resent;
    event["bytes"] = frame.bytes.size();
    if (!frame.arrivals.empty()) {
        event["arrival_ns"] = frame.arrivals.front().time.nanoseconds();
        event["verdict"] = name_of(frame.arrivals.front().verdict);
    }
    return event;
}

std::string failure_of(const lab::Ladder& ladder) {
    return ladder.name + ": " + ladder.wrong;
}

std::string json_of(const lab::Ladder& ladder) {
    constexpr std::array ends = {"idle", "time_limit", "frame_limit"};
    Json json;
    json["schema"] = ladder_schema;
    json["name"] = ladder.name;
    json["title"] = ladder.title;
    json["protocol"] = ladder.protocol;
    json["events"] = Json::array();
    for (const lab::LadderFrame& frame : ladder.frames) json["events"].push_back(json_of(frame));
    json["timers"] = Json::array();
    for (const lab::LadderNote& note : ladder.notes) {
        if (note.text != "timer") continue;
        json["timers"].push_back(
            {{"time_ns", note.time.nanoseconds()}, {"at", lab::name_of(note.side)}});
    }
    json["end"] = ends[static_cast<std::size_t>(ladder.end)];
    if (!ladder.wrong.empty()) json["error"] = failure_of(ladder);
    return json.dump() + "\n";
}

struct LadderSubcommand {
    std::string name;
    std::string svg;
    std::string pcapng;
    bool list = false;
    bool json = false;
    OptionRules rules;

    void check(const CLI::App& subcommand) const {
        if (name.empty() && !list) {
            throw CLI::ValidationError("NAME is required; wireproof ladder --list names them",
                                       exit_usage);
        }
        const bool more = !name.empty() || !svg.empty() || !pcapng.empty();
        if (list && more) {
            throw CLI::ValidationError("--list takes nothing but --json", exit_usage);
        }
        rules.check(subcommand);
    }

    int run() const {
        if (list) {
            print_list();
            return 0;
        }
        draw();
        return 0;
    }

    void draw() const {
        const auto ladder = lab::run_scenario(find_scenario(name));
        if (!ladder) throw app::Failure(ladder.error().message);
        // Write either both files or none.
        app::OutputFile picture(svg);
        app::OutputFile capture(pcapng);
        const std::string drawn = svg.empty() ? std::string() : lab::svg_of(*ladder);
        picture.write(0, std::as_bytes(std::span(drawn)));
        if (!pcapng.empty()) capture.write(0, lab::pcapng_of(*ladder));
        picture.finish();
        capture.finish();
        print_result(json ? json_of(*ladder) : lab::text_of(*ladder));
        if (!ladder->wrong.empty()) throw app::Failure(failure_of(*ladder));
    }

    void print_list() const {
        Json json_list = {{"schema", ladder_schema}, {"ladders", Json::array()}};
        std::string text;
        for (const lab::BuiltIn& built_in : lab::built_in_scenarios()) {
            const std::string file = std::string(built_in.name) + ".toml";
            const lab::Scenario scenario = scenario_of(built_in.text, file);
            json_list["ladders"].push_back({{"name", scenario.name},
                                            {"title", scenario.title},
                                            {"protocol", lab::name_of(scenario.protocol())}});
            text += list_entry(scenario);
        }
        print_result(json ? json_list.dump() + "\n" : text);
    }

    // The first sentence of the title. The ladder itself shows the whole title.
    static std::string list_entry(const lab::Scenario& scenario) {
        constexpr std::size_t columns = 80;
        std::string line = fmt::format("{:<22}", scenario.name);
        const std::string first = scenario.title.substr(0, scenario.title.find_first_of(".:;"));
        if (line.size() + first.size() > columns) {
            return line + first.substr(0, columns - line.size() - 2) + "..\n";
        }
        return line + first + "\n";
    }
};

}  // namespace

void add_ladder(CLI::App& app, Run& run) {
    const auto ladder = std::make_shared<LadderSubcommand>();
    CLI::App* subcommand = app.add_subcommand("ladder", "draw a small exchange, frame by frame");
    std::vector<std::string> names;
    for (const lab::BuiltIn& built_in : lab::built_in_scenarios())
        names.emplace_back(built_in.name);
    offer(*subcommand->add_option("NAME", ladder->name, "a built-in scenario, or a scenario file"),
          names);
    ladder->rules.writes(
        subcommand->add_option("--svg", ladder->svg, "draw it into this file")->type_name("FILE"),
        ladder->svg);
    ladder->rules.writes(subcommand
                             ->add_option("--pcapng", ladder->pcapng,
                                          "write its frames as a capture (LINKTYPE_USER0)")
                             ->type_name("FILE"),
                         ladder->pcapng);
    subcommand->add_flag("--list", ladder->list, "name the built-in scenarios");
    subcommand->add_flag("--json", ladder->json,
                         "print one JSON object (schema wireproof.ladder/1)");
    subcommand->footer(ladder_examples);
    subcommand->callback([ladder, subcommand, &run] {
        ladder->check(*subcommand);
        run = [ladder] { return ladder->run(); };
    });
}

}  // namespace wireproof::cli
