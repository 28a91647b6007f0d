// Searches and random worlds.
#include <optional>
#include <string>
#include <vector>

#include "wireproof/front/c/lab/given_text.hpp"
#include "wireproof/front/c/lab/point.hpp"
#include "wireproof/front/c/search_structs.hpp"
#include "wireproof/front/c/sized.hpp"

struct wireproof_search {
    wireproof::lab::SearchFindings findings;
};

using namespace wireproof;
using namespace wireproof::c;

namespace {

std::string text_or_empty(const char* text) {
    return text != nullptr ? text : "";
}

bool is_choice(std::int32_t value) {
    return value == 0 || value == 1 || value == WIREPROOF_AS_USUAL;
}

std::optional<bool> choice(std::int32_t value) {
    return value == WIREPROOF_AS_USUAL ? std::nullopt : std::optional(value == 1);
}

/// The name of a member whose value has no meaning; nullptr if there is none.
const char* senseless_search(const wireproof_search_settings& settings) {
    if (settings.protocol == nullptr) return "protocol";
    if (settings.both_ways > 1) return "both_ways";
    if (settings.damage > 1) return "damage";
    if (settings.faults < WIREPROOF_NO_LIMIT) return "faults";
    if (!is_choice(settings.duplicates)) return "duplicates";
    if (!is_choice(settings.reorder)) return "reorder";
    if (!is_choice(settings.early_timers)) return "early_timers";
    return nullptr;
}

lab::ExhaustiveSearch search_of(const wireproof_search_settings& from) {
    lab::ExhaustiveSearch search;
    search.protocol = from.protocol;
    search.window = from.window;
    search.modulus = from.modulus;
    search.messages = from.messages;
    search.both_ways = from.both_ways == 1;
    search.in_flight = from.in_flight;
    if (from.faults >= 0) search.faults = static_cast<std::uint32_t>(from.faults);
    search.any_faults = from.faults == WIREPROOF_NO_LIMIT;
    search.damage = from.damage == 1;
    search.duplicates = choice(from.duplicates);
    search.reorder = choice(from.reorder);
    search.early_timers = choice(from.early_timers);
    search.rule = text_or_empty(from.rule);
    search.recovery = text_or_empty(from.recovery);
    search.states_max = from.states_max;
    return search;
}

}  // namespace

const char* wireproof_search_protocol(size_t index) {
    return guarded(
        [&]() -> const char* {
            static const std::vector<std::string> names = [] {
                std::vector<std::string> copies;
                for (const std::string_view name : lab::search_protocols())
                    copies.emplace_back(name);
                return copies;
            }();
            return index < names.size() ? names[index].c_str() : nullptr;
        },
        [](wireproof_status, const char*) -> const char* { return nullptr; });
}

wireproof_status wireproof_search_run(const wireproof_search_settings* settings,
                                      wireproof_progress progress, void* user,
                                      wireproof_search** search, char* why, size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (search == nullptr) return reason.bad("the pointer for the search is NULL");
    *search = nullptr;
    wireproof_search_settings own = default_search();
    if (!read_sized(settings, own)) {
        return reason.bad(
            "the settings are NULL, have a wrong size, or set a member that this version does not "
            "have");
    }
    return simulate(reason, [&]() -> wireproof_status {
        if (const char* const member = senseless_search(own); member != nullptr) {
            return reason.bad("the value of " + std::string(member) + " has no meaning");
        }
        lab::ExhaustiveSearch asked = search_of(own);
        if (progress != nullptr) {
            const auto most = static_cast<double>(own.states_max);
            asked.progress = [=](std::uint64_t states) {
                const double share = static_cast<double>(states) / most;
                if (call_progress(progress, share, user) != WIREPROOF_GO_ON) throw Cancelled();
            };
        }
        auto findings = lab::exhaustive_search(asked);
        if (!findings) return reason.fail(WIREPROOF_FAILED, findings.error());
        *search = new wireproof_search{std::move(*findings)};
        return WIREPROOF_OK;
    });
}

wireproof_status wireproof_search_get(const wireproof_search* search,
                                      wireproof_search_findings* findings) {
    if (search == nullptr || !is_writable(findings)) return WIREPROOF_BAD_ARGUMENT;
    const lab::SearchFindings& from = search->findings;
    wireproof_search_findings to{};
    to.verdict = from.verdict.c_str();
    to.violation = from.violation.c_str();
    to.path = from.path.c_str();
    to.ladder = from.ladder.c_str();
    to.scenario = from.scenario.c_str();
    to.states = from.states;
    to.end_states = from.end_states;
    to.edges = from.edges;
    to.moves_to_finish = from.moves_to_finish;
    to.waits_to_finish = from.waits_to_finish;
    to.circle = from.circle ? static_cast<std::int64_t>(*from.circle) : -1;
    write_sized(to, findings, findings->size);
    return WIREPROOF_OK;
}

void wireproof_search_free(wireproof_search* search) {
    delete search;
}

wireproof_status wireproof_world_run(const char* protocol, uint64_t seed, const char* congestion,
                                     wireproof_world_findings* findings, char** what,
                                     char** violation, char* why, size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (what == nullptr || violation == nullptr) {
        return reason.bad("the pointer for a text is NULL");
    }
    *what = *violation = nullptr;
    if (protocol == nullptr) return reason.bad("the protocol is NULL");
    if (!is_writable(findings)) return reason.bad("the findings are NULL or have a wrong size");
    return reason.guard([&]() -> wireproof_status {
        const auto world = lab::run_world(
            {.protocol = protocol, .seed = seed, .congestion = text_or_empty(congestion)});
        if (!world) return reason.fail(WIREPROOF_FAILED, world.error());
        GivenText kind = given_text(world->what);
        GivenText broken = given_text(world->violation);
        wireproof_world_findings to{};
        to.controlled = world->controlled ? 1 : 0;
        to.operations = world->operations;
        to.failed = world->failed;
        to.frames = world->frames;
        to.faults = world->faults;
        to.resent = world->resent;
        to.seconds = world->seconds;
        write_sized(to, findings, findings->size);
        *what = kind.release();
        *violation = broken.release();
        return WIREPROOF_OK;
    });
}
