// The public searches: the settings of a user become those of a search of the laboratory.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <memory>

#include "wireproof/lab.hpp"
#include "wireproof/lab/ladder/scenario.hpp"
#include "wireproof/lab/search/search_am.hpp"
#include "wireproof/lab/search/search_json.hpp"
#include "wireproof/lab/search/search_link.hpp"

namespace wireproof::lab {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 2> recoveries = {"go-back-n", "selective"};

template <class Words>
std::string listed(const Words& words) {
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : ", ") + std::string(word);
    return text;
}

/// The place of the word. An empty word is the first one.
template <class Words>
Expected<std::size_t> place_in(const Words& words, const std::string& word, const char* what) {
    if (word.empty()) return 0;
    const auto at = std::find(words.begin(), words.end(), word);
    if (at != words.end()) return static_cast<std::size_t>(at - words.begin());
    if (words.empty()) return unexpected(std::string(what) + ": this protocol has none");
    return unexpected(std::string(what) + ": there is no " + word + "; there are " + listed(words));
}

/// A search whose settings were checked.
class Task {
public:
    static Expected<Task> of(const ExhaustiveSearch& asked) {
        const auto protocol = protocol_of(asked.protocol);
        if (!protocol) {
            return unexpected("no protocol is called " + asked.protocol + "; there are " +
                              listed(protocol_names));
        }
        Task task(asked, *protocol);
        if (const auto good = task.check(); !good) return unexpected(good.error().message);
        return task;
    }

    SearchFindings run() const { return is_am() ? find(am_search()) : find(link_search()); }

private:
    Task(const ExhaustiveSearch& asked, Protocol protocol) : asked_(asked), protocol_(protocol) {
        if (asked_.messages == 0) asked_.messages = is_am() ? 3 : 6;
    }

    bool is_am() const { return protocol_ == Protocol::sp_am; }

    Expected<void> check() {
        const auto between = [](std::uint64_t value, std::uint64_t least, std::uint64_t most,
                                const char* what) -> Expected<void> {
            if (value >= least && value <= most) return {};
            return unexpected(std::string(what) + " is " + std::to_string(least) + " to " +
                              std::to_string(most));
        };
        for (const auto& good :
             {between(asked_.window, 1, 16, "window"),
              between(asked_.modulus == 0 ? 2 : asked_.modulus, 2, 65536, "modulus"),
              between(asked_.messages, 1, LinkTask::messages_max, "messages"),
              between(asked_.in_flight, 1, SearchSetting::in_flight_max, "in_flight"),
              between(asked_.faults.value_or(0), 0, 100, "faults"),
              between(asked_.states_max, 1, 1'000'000'000, "states_max")}) {
            if (!good) return good;
        }
        if (asked_.faults && asked_.any_faults) {
            return unexpected("either there is a limit of faults, or any number of them");
        }
        const auto rule = place_in(is_am() ? std::vector<std::string>() : search_rules(protocol_),
                                   asked_.rule, "rule");
        if (!rule) return unexpected(rule.error().message);
        rule_ = *rule;
        if (!is_am() && !asked_.recovery.empty()) return unexpected("recovery is only of sp-am");
        const auto recovery = place_in(recoveries, asked_.recovery, "recovery");
        if (!recovery) return unexpected(recovery.error().message);
        recovery_ = static_cast<am::Recovery>(*recovery);
        if (asked_.modulus == 0) {
            asked_.modulus = is_am() ? 64 : smallest_modulus(protocol_, asked_.window);
        }
        Scenario scenario = checkable();
        scenario.any_window = true;
        const auto fits = scenario.check_engine();
        if (!fits) return unexpected("modulus, window: " + fits.error().message);
        return {};
    }

    Scenario::Engine link_engine() const {
        return search_engine(protocol_, asked_.window, asked_.modulus, rule_);
    }
    am::Config am_config() const {
        return am_search_config(recovery_, asked_.window, asked_.modulus);
    }
    /// The scenario that checks the configuration of the engine.
    Scenario checkable() const {
        Scenario scenario;
        if (!is_am()) {
            scenario.engine = link_engine();
        } else {
            am::Config config = am_config();
            config.chunk_packets = 1;  // enough for requests
            scenario.engine = config;
        }
        return scenario;
    }

    SearchSetting setting() const {
        SearchSetting setting;
        setting.in_flight = asked_.in_flight;
        if (!asked_.any_faults) {
            setting.faults = is_am() ? 2 : search_faults(protocol_);
            if (asked_.faults) setting.faults = asked_.faults;
        }
        setting.damage = asked_.damage;
        setting.repeat = asked_.duplicates.value_or(is_am());
        setting.overtake = asked_.reorder.value_or(is_am());
        setting.early_timers = asked_.early_timers.value_or(!is_am());
        return is_am() ? setting : possible(link_engine(), setting);
    }

    std::unique_ptr<AmSearch> am_search() const {
        AmPrograms programs;
        programs[0].resize(asked_.messages);
        if (asked_.both_ways) programs[1].resize(asked_.messages);
        return std::make_unique<AmSearch>(am_config(), programs, setting());
    }
    std::unique_ptr<AnyLinkSearch> link_search() const {
        const LinkTask task{.messages = asked_.messages, .both_ways = asked_.both_ways};
        return make_link_search(link_engine(), task, setting());
    }

    template <class Search>
    SearchFindings find(const std::unique_ptr<Search>& search) const {
        SearchLimits limits;
        limits.states = asked_.states_max;
        if (asked_.progress) {
            limits.go_on = [this](std::size_t met) {
                asked_.progress(met);
                return true;
            };
        }
        const SearchResult result = search->run(limits);
        SearchFindings findings;
        findings.verdict = name_of(result.verdict);
        findings.violation = result.violation;
        findings.states = result.states;
        findings.end_states = search->end_states();
        findings.edges = result.edges;
        findings.moves_to_finish = result.moves_to_finish;
        findings.waits_to_finish = result.waits_to_finish;
        if (!result.found()) return findings;
        const std::vector<SearchStep> steps = search->story(result.path);
        Json path = Json::array();
        for (const SearchStep& step : steps) path.push_back(search_json(step));
        findings.path = path.dump();
        findings.ladder = search_ladder(steps, result.circle);
        findings.scenario = scenario_of(result, steps);
        if (result.circle < steps.size()) findings.circle = result.circle;
        return findings;
    }

    std::string scenario_of(const SearchResult& result,
                            const std::vector<SearchStep>& steps) const {
        const bool hasty = is_hasty(steps);
        const Scenario scenario = checkable();
        SearchScenario about;
        about.name = "found";
        about.title = "Found by a search: " + result.violation + ".";
        if (hasty) about.title += " The timer is made to end before an answer can come.";
        about.protocol = asked_.protocol;
        about.engine = is_am() ? scenario_engine(std::get<am::Config>(scenario.engine), hasty)
                               : scenario_engine(scenario.engine, hasty);
        about.any_window = !scenario.check_engine();
        about.messages = {asked_.messages, asked_.both_ways ? asked_.messages : 0};
        about.bytes = is_am() ? 4 : static_cast<std::uint32_t>(search_message(protocol_));
        return search_scenario(about, steps);
    }

    ExhaustiveSearch asked_;
    Protocol protocol_;
    std::size_t rule_ = 0;  // a place in search_rules
    am::Recovery recovery_ = am::Recovery::go_back_n;
};

}  // namespace

std::vector<std::string_view> search_protocols() {
    return {protocol_names.begin(), protocol_names.end()};
}

Result<SearchFindings> exhaustive_search(const ExhaustiveSearch& search) {
    const auto task = Task::of(search);
    if (!task) return Result<SearchFindings>::failure(task.error().message);
    return task->run();
}

}  // namespace wireproof::lab
