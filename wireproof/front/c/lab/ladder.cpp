// Drawings of small exchanges.
#include <memory>
#include <string_view>

#include "wireproof/front/c/lab/point.hpp"

struct wireproof_ladder {
    wireproof::lab::DrawnLadder drawn;
};

using namespace wireproof;
using namespace wireproof::c;

namespace {

wireproof_status give(Result<lab::DrawnLadder> drawn, wireproof_ladder** ladder, const Why& why) {
    if (!drawn) return why.fail(WIREPROOF_FAILED, drawn.error());
    *ladder = new wireproof_ladder{std::move(*drawn)};
    return WIREPROOF_OK;
}

}  // namespace

wireproof_status wireproof_ladder_of_first_failure(const wireproof_point_settings* settings,
                                                   const wireproof_point_plan* plan,
                                                   wireproof_ladder** ladder, char* why,
                                                   size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (ladder == nullptr) return reason.bad("the pointer for the ladder is NULL");
    *ladder = nullptr;
    return simulate(reason, [&]() -> wireproof_status {
        Point point;
        const wireproof_status good = read_point(settings, plan, point, reason);
        if (good != WIREPROOF_OK) return good;
        return give(lab::draw_first_failure(point.settings, point.plan), ladder, reason);
    });
}

wireproof_status wireproof_ladder_of_scenario(const char* toml, size_t length,
                                              wireproof_ladder** ladder, char* why,
                                              size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (ladder == nullptr) return reason.bad("the pointer for the ladder is NULL");
    *ladder = nullptr;
    if (toml == nullptr && length != 0) return reason.bad("the scenario is NULL");
    return reason.guard(
        [&] { return give(lab::draw_scenario(std::string_view(toml, length)), ladder, reason); });
}

const char* wireproof_ladder_name(const wireproof_ladder* ladder) {
    return ladder != nullptr ? ladder->drawn.name.c_str() : "";
}

const char* wireproof_ladder_text(const wireproof_ladder* ladder) {
    return ladder != nullptr ? ladder->drawn.text.c_str() : "";
}

const char* wireproof_ladder_svg(const wireproof_ladder* ladder) {
    return ladder != nullptr ? ladder->drawn.svg.c_str() : "";
}

size_t wireproof_ladder_frames(const wireproof_ladder* ladder) {
    return ladder != nullptr ? ladder->drawn.frames : 0;
}

void wireproof_ladder_free(wireproof_ladder* ladder) {
    delete ladder;
}
