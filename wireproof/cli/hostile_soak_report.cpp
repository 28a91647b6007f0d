#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "wireproof/cli/hostile_soak.hpp"
#include "wireproof/cli/result.hpp"

namespace wireproof::cli {
namespace {

void print_json(const HostileSoakResult& result, const HostileSoakRun& run) {
    using Json = nlohmann::ordered_json;
    Json out;
    out["schema"] = "wireproof.soak-hostile/1";
    out["protocol"] = run.protocol;
    out["seed"] = run.seed;
    out["hostile"] = result.hostile;
    for (std::size_t i = 0; i < hostility_names.size(); ++i) {
        out["sent_as"][std::string(hostility_names[i])] = result.sent_as[i];
    }
    out["harmless"] = result.harmless;
    out["honest"] = result.honest;
    out["datagrams"] = result.datagrams;
    out["kernel_dropped"] = result.kernel_dropped;
    for (const auto& [reason, count] : result.received) out["received"][reason] = count;
    out["reconnected"] = result.reconnected;
    out["completed"] = result.completed;
    out["honest_messages"] = result.honest_messages;
    out["honest_lost"] = result.honest_lost;
    out["memory_checks"] = result.memory_checks;
    out["violation"] = result.violation;
    out["seconds"] = run.seconds;
    if (!result.violation.empty()) out["error"] = result.violation;
    print_result(out.dump() + "\n");
}

std::string text_of(const HostileSoakResult& result, const HostileSoakRun& run) {
    std::string text = fmt::format(
        "{} hostile packets from seed {} in {:.1f} s, {} harmless ones between them;\n"
        "{} honest messages beside them, {} lost; the kernel dropped {} packets;\n"
        "memory checked {} times, {} connections begun again\n\n",
        result.hostile, run.seed, run.seconds, result.harmless, result.honest_messages,
        result.honest_lost, result.kernel_dropped, result.memory_checks, result.reconnected);
    text += fmt::format("{:<28}{:>10}    {:<20}{:>10}\n", "what became of them", "packets",
                        "sent as", "packets");
    for (std::size_t i = 0; i < std::max(result.received.size(), hostility_names.size()); ++i) {
        std::string line(38, ' ');
        if (i < result.received.size()) {
            line = fmt::format("{:<28}{:>10}", result.received[i].first, result.received[i].second);
        }
        if (i < hostility_names.size()) {
            line += fmt::format("    {:<20}{:>10}", hostility_names[i], result.sent_as[i]);
        }
        text += line + "\n";
    }
    return text;
}

}  // namespace

void print_hostile_soak(const HostileSoakResult& result, const HostileSoakRun& run) {
    if (run.json) return print_json(result, run);
    print_result(text_of(result, run));
}

}  // namespace wireproof::cli
