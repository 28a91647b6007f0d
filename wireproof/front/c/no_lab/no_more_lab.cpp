// Sweeps, searches and worlds in a library that was built without the laboratory.
#include "wireproof/front/c/guard.hpp"
#include "wireproof/lab.h"

using namespace wireproof::c;

namespace {

wireproof_status is_not_built(char* why, std::size_t why_bytes) {
    return Why(why, why_bytes)
        .fail(WIREPROOF_NOT_BUILT, "the library was built without the laboratory");
}

}  // namespace

wireproof_status wireproof_sweep_read(const char* /*toml*/, size_t /*length*/,
                                      wireproof_sweep** sweep, char* why, size_t why_bytes) {
    if (sweep != nullptr) *sweep = nullptr;
    return is_not_built(why, why_bytes);
}

const char* wireproof_sweep_name(const wireproof_sweep* /*sweep*/) {
    return "";
}

const char* wireproof_sweep_loss_trace(const wireproof_sweep* /*sweep*/) {
    return "";
}

size_t wireproof_sweep_points(const wireproof_sweep* /*sweep*/) {
    return 0;
}

uint64_t wireproof_sweep_seed(const wireproof_sweep* /*sweep*/) {
    return 0;
}

double wireproof_sweep_point_seconds(const wireproof_sweep* /*sweep*/) {
    return 0;
}

wireproof_status wireproof_sweep_set_seed(wireproof_sweep* /*sweep*/, uint64_t /*seed*/) {
    return WIREPROOF_NOT_BUILT;
}

wireproof_status wireproof_sweep_set_packets(wireproof_sweep* /*sweep*/, uint64_t /*packets*/,
                                             char* why, size_t why_bytes) {
    return is_not_built(why, why_bytes);
}

wireproof_status wireproof_sweep_set_relative_error(wireproof_sweep* /*sweep*/,
                                                    double /*relative_error*/, char* why,
                                                    size_t why_bytes) {
    return is_not_built(why, why_bytes);
}

wireproof_status wireproof_sweep_set_loss_trace(wireproof_sweep* /*sweep*/, const char* /*text*/,
                                                size_t /*length*/, char* why, size_t why_bytes) {
    return is_not_built(why, why_bytes);
}

wireproof_status wireproof_sweep_run(const wireproof_sweep* /*sweep*/, size_t /*point*/,
                                     uint32_t /*jump*/, wireproof_progress /*progress*/,
                                     void* /*user*/, char** json, char* why, size_t why_bytes) {
    if (json != nullptr) *json = nullptr;
    return is_not_built(why, why_bytes);
}

wireproof_status wireproof_sweep_draw(const wireproof_sweep* /*sweep*/,
                                      const char* const* /*results*/, size_t /*count*/, char** svg,
                                      char* why, size_t why_bytes) {
    if (svg != nullptr) *svg = nullptr;
    return is_not_built(why, why_bytes);
}

void wireproof_sweep_free(wireproof_sweep* /*sweep*/) {}

void wireproof_text_free(char* /*text*/) {}

const char* wireproof_search_protocol(size_t /*index*/) {
    return nullptr;
}

wireproof_status wireproof_search_run(const wireproof_search_settings* /*settings*/,
                                      wireproof_progress /*progress*/, void* /*user*/,
                                      wireproof_search** search, char* why, size_t why_bytes) {
    if (search != nullptr) *search = nullptr;
    return is_not_built(why, why_bytes);
}

wireproof_status wireproof_search_get(const wireproof_search* /*search*/,
                                      wireproof_search_findings* /*findings*/) {
    return WIREPROOF_NOT_BUILT;
}

void wireproof_search_free(wireproof_search* /*search*/) {}

wireproof_status wireproof_world_run(const char* /*protocol*/, uint64_t /*seed*/,
                                     const char* /*congestion*/,
                                     wireproof_world_findings* /*findings*/, char** what,
                                     char** violation, char* why, size_t why_bytes) {
    if (what != nullptr) *what = nullptr;
    if (violation != nullptr) *violation = nullptr;
    return is_not_built(why, why_bytes);
}
