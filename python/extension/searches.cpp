// Searches and random worlds.
#include <pybind11/stl.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "laboratory.hpp"
#include "progress.hpp"

#include "wireproof/lab.h"

namespace wireproof::python {
namespace {

std::int32_t choice(const py::handle& value) {
    if (value.is_none()) return WIREPROOF_AS_USUAL;
    return value.cast<bool>() ? 1 : 0;
}

std::int32_t limit_of_faults(const py::dict& from) {
    const auto faults = from["faults"].cast<std::optional<std::uint32_t>>();
    if (from["any_faults"].cast<bool>()) {
        if (faults)
            throw py::value_error("either there is a limit of faults, or any number of them");
        return WIREPROOF_NO_LIMIT;
    }
    if (!faults) return WIREPROOF_AS_USUAL;
    constexpr std::uint32_t most = 1'000'000;  // the library has a smaller one
    return static_cast<std::int32_t>(std::min(*faults, most));
}

py::dict search_run(const py::dict& from, py::object callback) {
    const auto protocol = from["protocol"].cast<std::string>();
    const auto rule = from["rule"].cast<std::string>();
    const auto recovery = from["recovery"].cast<std::string>();
    wireproof_search_settings settings{};
    wireproof_search_settings_init(&settings, sizeof settings);
    settings.protocol = protocol.c_str();
    settings.rule = rule.c_str();
    settings.recovery = recovery.c_str();
    settings.window = from["window"].cast<std::uint32_t>();
    settings.modulus = from["modulus"].cast<std::uint32_t>();
    settings.messages = from["messages"].cast<std::uint32_t>();
    settings.in_flight = from["in_flight"].cast<std::uint32_t>();
    settings.both_ways = from["both_ways"].cast<bool>() ? 1 : 0;
    settings.damage = from["damage"].cast<bool>() ? 1 : 0;
    settings.faults = limit_of_faults(from);
    settings.duplicates = choice(from["duplicates"]);
    settings.reorder = choice(from["reorder"]);
    settings.early_timers = choice(from["early_timers"]);
    settings.states_max = from["states_max"].cast<std::uint64_t>();
    Progress progress(std::move(callback));
    Why why;
    wireproof_search* made = nullptr;
    wireproof_status status = WIREPROOF_OK;
    {
        const py::gil_scoped_release released;
        status = wireproof_search_run(&settings, &Progress::on_share, &progress, &made, why.room(),
                                      why.bytes());
    }
    const std::unique_ptr<wireproof_search, decltype(&wireproof_search_free)> owner(
        made, &wireproof_search_free);
    progress.check(status, why);
    wireproof_search_findings found{};
    found.size = sizeof found;
    why.check(wireproof_search_get(made, &found));
    py::dict findings;
    findings["verdict"] = found.verdict;
    findings["violation"] = found.violation;
    findings["path"] = found.path;
    findings["text"] = found.ladder;
    findings["scenario"] = found.scenario;
    findings["states"] = found.states;
    findings["end_states"] = found.end_states;
    findings["edges"] = found.edges;
    findings["moves_to_finish"] = found.moves_to_finish;
    findings["waits_to_finish"] = found.waits_to_finish;
    findings["circle"] = found.circle < 0 ? std::nullopt : std::optional(found.circle);
    return findings;
}

py::dict world_run(const std::string& protocol, std::uint64_t seed, const std::string& congestion) {
    wireproof_world_findings found{};
    found.size = sizeof found;
    char* what = nullptr;
    char* violation = nullptr;
    Why why;
    wireproof_status status = WIREPROOF_OK;
    {
        const py::gil_scoped_release released;
        status = wireproof_world_run(protocol.c_str(), seed, congestion.c_str(), &found, &what,
                                     &violation, why.room(), why.bytes());
    }
    const std::unique_ptr<char, decltype(&wireproof_text_free)> kind(what, &wireproof_text_free);
    const std::unique_ptr<char, decltype(&wireproof_text_free)> broken(violation,
                                                                       &wireproof_text_free);
    why.check(status);
    py::dict findings;
    findings["what"] = what;
    findings["violation"] = violation;
    findings["controlled"] = found.controlled == 1;
    findings["seconds"] = found.seconds;
    findings["operations"] = found.operations;
    findings["failed"] = found.failed;
    findings["frames"] = found.frames;
    findings["faults"] = found.faults;
    findings["resent"] = found.resent;
    return findings;
}

}  // namespace

void add_searches(py::module_& module) {
    module.def("search_protocols", [] {
        py::list names;
        for (std::size_t i = 0; wireproof_search_protocol(i) != nullptr; ++i) {
            names.append(wireproof_search_protocol(i));
        }
        return names;
    });
    module.def("search_run", &search_run, py::arg("arguments"), py::arg("progress"));
    module.def("world_run", &world_run, py::arg("protocol"), py::arg("seed"),
               py::arg("congestion"));
}

}  // namespace wireproof::python
