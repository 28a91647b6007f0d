// Visits every state that two engines and a faulty wire can reach in a small world.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <stop_token>
#include <utility>

#include "wireproof/app/common/files.hpp"
#include "wireproof/app/common/interrupt.hpp"
#include "wireproof/app/common/progress.hpp"
#include "wireproof/cli/carry_options.hpp"
#include "wireproof/cli/job_ranks.hpp"
#include "wireproof/cli/names.hpp"
#include "wireproof/cli/numbers.hpp"
#include "wireproof/cli/option_rules.hpp"
#include "wireproof/cli/option_text.hpp"
#include "wireproof/cli/result.hpp"
#include "wireproof/cli/search_list.hpp"
#include "wireproof/cli/subcommands.hpp"
#include "wireproof/cli/timing.hpp"
#include "wireproof/lab/ladder/scenario.hpp"
#include "wireproof/lab/search/search_am.hpp"
#include "wireproof/lab/search/search_json.hpp"
#include "wireproof/lab/search/search_link.hpp"

namespace wireproof::cli {
namespace {

using Json = nlohmann::ordered_json;
using lab::SearchVerdict;

constexpr auto search_schema = "wireproof.search/1";

constexpr auto search_footer =
    R"(Looks at every state that two engines as shipped and the frames between them can
get into: is a message ever lost, repeated or out of order, and can every state
still finish once faults stop? share/doc/wireproof/guide/links/search.md says
how to read the answer.

Examples:
  wireproof search pcie
  wireproof search hippi6400 --window 3 --in-flight 3
  wireproof search sp-am --recovery selective --both-ways --faults 1
  wireproof search hippi6400 --rule literal --no-damage --out found.toml
  wireproof ladder found.toml
  wireproof search --tasks list.txt     a search in each line: "pcie --window 3"

Searches of a list run at the same time, on all processors of this host, and on
all ranks of a job (mpirun wireproof search --tasks list.txt). Each may need the
memory of --states.

Exit code 0: it holds; 1: a counterexample was found, or the search was not
finished; 2: the command line is wrong.)";

const std::vector<std::string> recoveries = {"go-back-n", "selective"};

template <class T>
T place_in(const std::vector<std::string>& names, const std::string& name) {
    return static_cast<T>(std::find(names.begin(), names.end(), name) - names.begin());
}

/// The results of a search that are printed.
struct Findings {
    lab::SearchResult result;
    std::vector<lab::SearchStep> steps{};  // to the counterexample
    std::size_t end_states = 0;
    std::optional<double> seconds{};  // empty: do not print it
};

/// One search, with the options that say what is searched.
struct SearchSubcommand {
    std::string protocol;
    std::uint32_t window = 2;
    std::uint32_t modulus = 0;   // 0: the smallest one
    std::uint32_t messages = 0;  // 0: the protocol's default
    std::uint32_t faults = 0;
    CLI::Option* faults_given = nullptr;
    bool any_faults = false;
    std::size_t in_flight = 2;
    std::size_t states = 20'000'000;
    bool both_ways = false;
    bool damage = true;
    std::optional<bool> duplicates;
    std::optional<bool> reorder;
    std::optional<bool> early_timers;
    std::string rule;
    std::string recovery;
    std::string out;
    std::string tasks;  // a file with a search in each line; empty: this search alone
    bool json = false;
    Timing timing;
    const std::stop_token* stop = nullptr;  // one of a list: who stops it

    OptionRules rules_of_options;

    bool is_am() const { return protocol == name_of(lab::Protocol::sp_am); }
    /// Valid if a protocol was given.
    lab::Protocol chosen() const { return *lab::protocol_of(protocol); }
    std::vector<std::string> rules() const {
        return is_am() ? std::vector<std::string>() : lab::search_rules(chosen());
    }

    /// Fills in the values that were not given. Throws if the task cannot be searched.
    void check(const CLI::App& subcommand) {
        rules_of_options.check(subcommand);
        if (!tasks.empty()) return;
        if (protocol.empty()) refuse_usage("search needs a PROTOCOL or --tasks FILE");
        check_rule();
        if (messages == 0) messages = is_am() ? 3 : 6;
        if (modulus == 0) {
            modulus = is_am() ? 64 : lab::smallest_modulus(chosen(), window);
        }
        lab::Scenario scenario = checkable();
        scenario.any_window = true;
        const auto fits = scenario.check_engine();
        if (!fits) refuse_usage("--modulus, --window: " + fits.error().message);
    }

    int run() {
        app::catch_interrupts();
        task_pool::TaskPool pool = task_pool_of("search");
        const ReadSearch read = [this](const std::string& line) { return read_line(line); };
        if (!pool.is_rank_0()) {
            return help(pool,
                        [&read](task_pool::TaskPool& of) { help_with_search_list(of, read); });
        }
        if (!tasks.empty()) return run_search_list(pool, tasks, json, read);
        pool.dismiss();
        timing.start();
        app::OutputFile file(out);
        const Findings findings = is_am() ? find(am_search()) : find_in_link();
        const auto& result = findings.result;
        if (result.found()) {
            const std::string scenario = scenario_of(findings);
            file.write(0, std::as_bytes(std::span(scenario)));
            file.finish();
        }
        print_result(json ? json_of(findings) : text_of(findings));
        app::check_interrupt();
        if (result.verdict == SearchVerdict::too_many_states) throw app::Failure(too_many_states());
        return result.found() ? app::exit_failed : 0;
    }

    /// Runs it as one of a list.
    std::optional<ListedResult> run_listed(const std::stop_token& by) {
        stop = &by;
        timing.start();
        const Findings findings = is_am() ? find(am_search()) : find_in_link();
        const SearchVerdict verdict = findings.result.verdict;
        if (verdict == SearchVerdict::interrupted) return std::nullopt;
        const bool gave_up = verdict == SearchVerdict::too_many_states;
        return ListedResult{findings.result.found() || gave_up ? app::exit_failed : 0,
                            json ? json_of(findings) : text_of(findings),
                            gave_up ? too_many_states() : std::string()};
    }

private:
    ListedSearch read_line(const std::string& line) const;

    std::string too_many_states() const {
        return fmt::format("not finished: there are more than {} states (--states)", states);
    }

    void check_rule() const {
        const auto words = rules();
        if (rule.empty() || std::find(words.begin(), words.end(), rule) != words.end()) return;
        refuse_usage(fmt::format("--rule: {} not in {{{}}}", rule, fmt::join(words, ",")));
    }
    lab::Scenario::Engine link_engine() const {
        const std::size_t place = rule.empty() ? 0 : place_in<std::size_t>(rules(), rule);
        return lab::search_engine(chosen(), window, modulus, place);
    }
    am::Config am_config() const {
        const auto chosen = recovery.empty() ? am::Recovery::go_back_n
                                             : place_in<am::Recovery>(recoveries, recovery);
        return lab::am_search_config(chosen, window, modulus);
    }

    /// The scenario that checks the configuration of the engine.
    lab::Scenario checkable() const {
        lab::Scenario scenario;
        if (!is_am()) {
            scenario.engine = link_engine();
        } else {
            am::Config config = am_config();
            config.chunk_packets = 1;  // enough for requests
            scenario.engine = config;
        }
        return scenario;
    }

    lab::SearchSetting setting() const {
        lab::SearchSetting setting;
        setting.in_flight = in_flight;
        setting.faults = is_am() ? 2 : lab::search_faults(chosen());
        if (faults_given->count() > 0) setting.faults = faults;
        if (any_faults) setting.faults.reset();
        setting.damage = damage;
        setting.repeat = duplicates.value_or(is_am());
        setting.overtake = reorder.value_or(is_am());
        setting.early_timers = early_timers.value_or(!is_am());
        return is_am() ? setting : lab::possible(link_engine(), setting);
    }

    std::unique_ptr<lab::AmSearch> am_search() const {
        lab::AmPrograms programs;
        programs[0].resize(messages);
        if (both_ways) programs[1].resize(messages);
        return std::make_unique<lab::AmSearch>(am_config(), programs, setting());
    }

    Findings find_in_link() const {
        const lab::LinkTask task{.messages = messages, .both_ways = both_ways};
        return find(lab::make_link_search(link_engine(), task, setting()));
    }

    template <class Search>
    Findings find(const std::unique_ptr<Search>& search) const {
        std::optional<app::Progress> progress;
        if (stop == nullptr) progress.emplace("states:", 0, "states");
        const auto go_on = [this, &progress](std::size_t met) {
            if (stop != nullptr) return !stop->stop_requested();
            progress->show_count(met);
            return !app::is_interrupted();
        };
        Findings findings{search->run({.states = states, .go_on = go_on})};
        findings.seconds = timing.seconds();
        findings.steps = search->story(findings.result.path);
        findings.end_states = search->end_states();
        return findings;
    }

    std::string text_of(const Findings& findings) const {
        const lab::SearchResult& result = findings.result;
        std::string text = question();
        text += fmt::format("{} states ({} of an end), {} edges{}\n", result.states,
                            findings.end_states, result.edges,
                            findings.seconds ? fmt::format(" in {:.2f} s", *findings.seconds) : "");
        if (result.verdict == SearchVerdict::holds) {
            return text +
                   fmt::format(
                       "holds: everything arrives once and in order, and every state can finish\n"
                       "once faults stop; the worst one needs {} moves, {} of them waits for a "
                       "timer\n",
                       result.moves_to_finish, result.waits_to_finish);
        }
        if (!result.found()) return text + "not finished: nothing was found so far\n";
        text += fmt::format("refuted: {}\n\n{}", result.violation,
                            lab::search_ladder(findings.steps, result.circle));
        if (!out.empty()) text += fmt::format("\nwireproof ladder {} replays its faults\n", out);
        return text;
    }

    std::string question() const {
        const lab::SearchSetting asked = setting();
        std::string text = fmt::format(
            "{}: window {} of {} numbers, {} in flight each way; messages: {} {}\n", protocol,
            window, modulus, in_flight, messages, both_ways ? "each way" : "from A");
        if (const auto words = rules(); !words.empty()) {
            text += fmt::format("{}: {}\n", lab::search_rules_are_of(chosen()),
                                rule.empty() ? words[0] : rule);
        }
        if (is_am()) {
            text += fmt::format("recovery: {}\n", recovery.empty() ? recoveries[0] : recovery);
        }
        std::vector<std::string> faults_of;
        if (asked.lose) faults_of.emplace_back("lost");
        if (asked.damage) faults_of.emplace_back("damaged");
        if (asked.separate_front > 0) {
            faults_of.back() +=
                fmt::format(" (or only after the first {} bytes)", asked.separate_front);
        }
        if (asked.repeat) faults_of.emplace_back("repeated");
        if (asked.overtake) faults_of.emplace_back("overtaken");
        text += fmt::format("frames are {}{}; {}\n", fmt::join(faults_of, ", "),
                            asked.early_timers ? "; timers end early" : "",
                            asked.faults ? fmt::format("{} faults at most", *asked.faults)
                                         : std::string("any number of faults"));
        return text;
    }

    std::string json_of(const Findings& findings) const {
        const lab::SearchResult& result = findings.result;
        const lab::SearchSetting asked = setting();
        Json object;
        object["schema"] = search_schema;
        object["protocol"] = protocol;
        object["window"] = window;
        object["modulus"] = modulus;
        object["messages"] = messages;
        object["both_ways"] = both_ways;
        object["in_flight"] = in_flight;
        object["faults"] = asked.faults ? Json(*asked.faults) : Json(nullptr);
        object["states"] = result.states;
        object["edges"] = result.edges;
        object["seconds"] = findings.seconds ? Json(*findings.seconds) : Json();
        object["verdict"] = lab::name_of(result.verdict);
        object["violation"] = result.found() ? Json(result.violation) : Json(nullptr);
        object["path"] = Json::array();
        for (const lab::SearchStep& step : findings.steps)
            object["path"].push_back(lab::search_json(step));
        if (result.found()) object["error"] = "refuted: " + result.violation;
        if (result.verdict == SearchVerdict::too_many_states) object["error"] = too_many_states();
        object["circle"] =
            result.circle < findings.steps.size() ? Json(result.circle) : Json(nullptr);
        return object.dump() + "\n";
    }

    std::string scenario_of(const Findings& findings) const {
        const bool hasty = lab::is_hasty(findings.steps);
        const lab::Scenario scenario = checkable();
        lab::SearchScenario about;
        about.name = "found";
        about.title = fmt::format("Found by a search: {}.", findings.result.violation);
        if (hasty) about.title += " The timer is made to end before an answer can come.";
        about.protocol = protocol;
        about.engine = is_am() ? lab::scenario_engine(std::get<am::Config>(scenario.engine), hasty)
                               : lab::scenario_engine(scenario.engine, hasty);
        about.any_window = !scenario.check_engine();
        about.messages = {messages, both_ways ? messages : 0};
        about.bytes = is_am() ? 4 : static_cast<std::uint32_t>(lab::search_message(chosen()));
        return lab::search_scenario(about, findings.steps);
    }
};

/// The link protocols that have rules to choose from.
std::vector<std::string> protocols_with_rules() {
    std::vector<std::string> names;
    for (const std::string_view name : lab::protocol_names) {
        const lab::Protocol protocol = *lab::protocol_of(name);
        if (lab::is_link(protocol) && !lab::search_rules(protocol).empty())
            names.emplace_back(name);
    }
    return names;
}

/// "hippi6400: rule for duplicates, status-null, literal or re-arm", from a new line on for each
/// protocol.
std::string rules_text() {
    std::string text;
    for (const std::string& name : protocols_with_rules()) {
        const lab::Protocol protocol = *lab::protocol_of(name);
        const std::string line = fmt::format("{}: {}, {}", name, lab::search_rules_are_of(protocol),
                                             either_of(lab::search_rules(protocol)));
        text += (text.empty() ? "" : "\n") + line;
    }
    return text;
}

void add_faults(CLI::App& subcommand, SearchSubcommand& search) {
    search.faults_given =
        subcommand
            .add_option("--faults", search.faults,
                        "how many faults, early timers too (sp-am: 2; cxl-llr: 3; else any)")
            ->type_name("N");
    accept_whole(*search.faults_given, 0, 100);
    subcommand.add_flag("--any-faults", search.any_faults, "without a limit")
        ->excludes(search.faults_given);
    const auto flag = [&subcommand](const char* names, auto& value, const char* what) {
        subcommand.add_flag_function(
            names, [&value](std::int64_t given) { value = given > 0; }, what);
    };
    flag("--damage,!--no-damage", search.damage, "frames may be damaged (default)");
    flag("--duplicates,!--no-duplicates", search.duplicates,
         "frames may arrive twice (default for sp-am)");
    flag("--reorder,!--no-reorder", search.reorder,
         "frames may overtake each other (default for sp-am)");
    flag("--early-timers,!--no-early-timers", search.early_timers,
         "timers may end at any moment (default for links)");
}

/// The options of one search.
std::vector<const CLI::Option*> add_task(CLI::App& subcommand, SearchSubcommand& search) {
    const std::size_t before = subcommand.get_options().size();
    const std::vector<std::string> known(lab::protocol_names.begin(), lab::protocol_names.end());
    subcommand.add_option("PROTOCOL", search.protocol, either_of(known))
        ->check(CLI::IsMember(known));
    const auto number = [&subcommand](const char* name, auto& value, const char* what,
                                      std::uint64_t least, std::uint64_t most) {
        CLI::Option* const option = subcommand.add_option(name, value, what)->type_name("N");
        accept_whole(*option, least, most);
        return option;
    };
    number("--window", search.window, "frames that may be unacknowledged", 1, 16)
        ->capture_default_str();
    number("--modulus", search.modulus,
           "how many sequence numbers there are (the least that suits; sp-am: 64)", 2, 65536);
    number("--messages", search.messages, "how many A sends (6; sp-am: 3)", 1, 100);
    subcommand.add_flag("--both-ways", search.both_ways, "B sends as many");
    number("--in-flight", search.in_flight, "frames on the way, each way", 1,
           lab::SearchSetting::in_flight_max)
        ->capture_default_str();
    add_faults(subcommand, search);
    CLI::Option* const rule =
        subcommand.add_option("--rule", search.rule, rules_text())->type_name("NAME");
    std::vector<std::string> all_rules;
    for (const std::string& name : protocols_with_rules()) {
        const auto rules = lab::search_rules(*lab::protocol_of(name));
        all_rules.insert(all_rules.end(), rules.begin(), rules.end());
    }
    offer(*rule, all_rules);
    search.rules_of_options.applies(
        rule, [&search] { return !search.protocol.empty() && !search.rules().empty(); },
        "for protocols other than " + either_of(protocols_with_rules()));
    search.rules_of_options.applies(
        subcommand.add_option("--recovery", search.recovery, "of sp-am: go-back-n or selective")
            ->check(CLI::IsMember(recoveries))
            ->type_name("KIND"),
        [&search] { return search.is_am(); }, "for protocols other than sp-am");
    number("--states", search.states, "give up after so many; 20 million need about 0.9 GB", 1,
           1'000'000'000)
        ->capture_default_str();
    const auto all = subcommand.get_options();
    return {all.begin() + static_cast<std::ptrdiff_t>(before), all.end()};
}

// The words of the line are those of a command line.
ListedSearch SearchSubcommand::read_line(const std::string& line) const {
    const auto one = std::make_shared<SearchSubcommand>();
    const auto app = std::make_shared<CLI::App>();
    app->set_help_flag();
    add_task(*app, *one);
    one->json = json;
    one->timing = timing;
    app->parse(line);
    one->check(*app);
    // The options belong to the parser.
    return [one, app](const std::stop_token& by) { return one->run_listed(by); };
}

}  // namespace

void add_search(CLI::App& app, Run& run) {
    const auto search = std::make_shared<SearchSubcommand>();
    CLI::App* subcommand = app.add_subcommand("search", "look at every state of a small world");
    const auto of_a_task = add_task(*subcommand, *search);
    subcommand
        ->add_option("--tasks", search->tasks, "do the searches of this list, one in each line")
        ->type_name("FILE");
    CLI::Option* const out =
        subcommand->add_option("--out", search->out, "write a counterexample as a scenario")
            ->type_name("FILE");
    search->rules_of_options.writes(out, search->out);
    const auto is_alone = [&chosen = *search] { return chosen.tasks.empty(); };
    search->rules_of_options.apply(of_a_task, is_alone, "with --tasks");
    search->rules_of_options.applies(out, is_alone, "with --tasks");
    search->timing.add(*subcommand);
    subcommand->add_flag("--json", search->json,
                         "print one JSON object (schema wireproof.search/1)");
    subcommand->footer(search_footer);
    subcommand->callback([search, subcommand, &run] {
        search->check(*subcommand);
        run = [search] { return search->run(); };
    });
}

}  // namespace wireproof::cli
