// The functions of the laboratory in a library that was built without it.
#include "wireproof/front/c/guard.hpp"
#include "wireproof/wireproof.h"

using namespace wireproof::c;

namespace {

wireproof_status not_built(char* why, std::size_t why_bytes) {
    return Why(why, why_bytes)
        .fail(WIREPROOF_NOT_BUILT, "the library was built without the laboratory");
}

}  // namespace

int wireproof_has_lab() {
    return 0;
}

const char* wireproof_point_protocol(size_t /*index*/) {
    return nullptr;
}

wireproof_status wireproof_point_run(const wireproof_point_settings* /*settings*/,
                                     const wireproof_point_plan* /*plan*/,
                                     wireproof_point_figures* /*figures*/, char* why,
                                     size_t why_bytes) {
    return not_built(why, why_bytes);
}

wireproof_status wireproof_ladder_of_first_failure(const wireproof_point_settings* /*settings*/,
                                                   const wireproof_point_plan* /*plan*/,
                                                   wireproof_ladder** ladder, char* why,
                                                   size_t why_bytes) {
    if (ladder != nullptr) *ladder = nullptr;
    return not_built(why, why_bytes);
}

wireproof_status wireproof_ladder_of_scenario(const char* /*toml*/, size_t /*length*/,
                                              wireproof_ladder** ladder, char* why,
                                              size_t why_bytes) {
    if (ladder != nullptr) *ladder = nullptr;
    return not_built(why, why_bytes);
}

const char* wireproof_ladder_name(const wireproof_ladder* /*ladder*/) {
    return "";
}

const char* wireproof_ladder_text(const wireproof_ladder* /*ladder*/) {
    return "";
}

const char* wireproof_ladder_svg(const wireproof_ladder* /*ladder*/) {
    return "";
}

size_t wireproof_ladder_frames(const wireproof_ladder* /*ladder*/) {
    return 0;
}

void wireproof_ladder_free(wireproof_ladder* /*ladder*/) {}
