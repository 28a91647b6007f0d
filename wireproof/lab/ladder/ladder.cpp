#include "wireproof/lab/ladder/ladder.hpp"

#include "wireproof/lab/ladder/ladder_run.hpp"
#include "wireproof/lab/ladder/ladder_user_am.hpp"

namespace wireproof::lab {
namespace {

bool is_taken(RxVerdict verdict) {
    return verdict == RxVerdict::accepted || verdict == RxVerdict::held ||
           verdict == RxVerdict::control;
}

}  // namespace

std::optional<std::uint32_t> LadderFrame::ack_besides() const {
    const bool says_it_as_its_own = info.kind == "null" || info.kind == "status null";
    return says_it_as_its_own ? std::nullopt : info.ack;
}

bool LadderFrame::refused() const {
    return !fate.damaged && !arrivals.empty() && !is_taken(arrivals.front().verdict);
}

std::string_view LadderFrame::fate_word() const {
    if (fate.lost) return "lost";
    if (fate.damaged) return "damaged";
    if (refused()) return "refused";
    return fate.duplicated ? "duplicated" : "delivered";
}

Expected<Ladder> run_scenario(const Scenario& scenario) {
    if (!is_link(scenario.protocol())) return LadderRun<AmLadderUser>(scenario).run();
    return visit_adapter(scenario.protocol(),
                         [&]<class Adapter>() { return Adapter::run_ladder(scenario); });
}

}  // namespace wireproof::lab
