#include "wireproof/lab/search/search_json.hpp"

namespace wireproof::lab {
namespace {

constexpr std::array<std::string_view, 6> verdict_words = {
    "holds", "broken", "stuck", "in_circles", "too_many_states", "interrupted"};
constexpr std::array<std::string_view, 9> move_words = {
    "arrive", "offer", "leave", "due", "wait", "lose", "damage", "repeat", "damage_tail"};
constexpr std::array<std::string_view, 3> end_words = {"A", "B", "both"};

}  // namespace

std::string_view name_of(SearchVerdict verdict) {
    return verdict_words[static_cast<std::size_t>(verdict)];
}

nlohmann::ordered_json search_json(const SearchStep& step) {
    nlohmann::ordered_json move;
    move["move"] = move_words[static_cast<std::size_t>(step.move.what)];
    move["end"] = end_words[step.move.end];
    move["fault"] = step.move.fault;
    if (step.frame > 0) {
        move["frame"] = step.info.kind;
        if (step.info.number) move["seq"] = *step.info.number;
        move["nth"] = step.frame;
    }
    if (step.verdict) move["verdict"] = name_of(*step.verdict);
    if (!step.delivered.empty()) move["delivered"] = step.delivered;
    return move;
}

}  // namespace wireproof::lab
