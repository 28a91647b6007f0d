// The points of sweep files.
#include <string>
#include <string_view>
#include <vector>

#include "wireproof/front/c/lab/given_text.hpp"
#include "wireproof/front/c/lab/point.hpp"
#include "wireproof/lab.h"

struct wireproof_sweep {
    wireproof::lab::PointSweep points;
};

using namespace wireproof;
using namespace wireproof::c;

namespace {

/// Calls `set`, which returns a Result<void>.
template <class Set>
wireproof_status change(wireproof_sweep* sweep, const Why& why, Set&& set) {
    if (sweep == nullptr) return why.bad("the sweep is NULL");
    return why.guard([&]() -> wireproof_status {
        const Result<void> done = set(sweep->points);
        return done ? WIREPROOF_OK : why.fail(WIREPROOF_FAILED, done.error());
    });
}

}  // namespace

wireproof_status wireproof_sweep_read(const char* toml, size_t length, wireproof_sweep** sweep,
                                      char* why, size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (sweep == nullptr) return reason.bad("the pointer for the sweep is NULL");
    *sweep = nullptr;
    if (toml == nullptr && length != 0) return reason.bad("the text of the sweep is NULL");
    return reason.guard([&]() -> wireproof_status {
        auto read = lab::PointSweep::read(std::string_view(toml, length));
        if (!read) return reason.fail(WIREPROOF_FAILED, read.error());
        *sweep = new wireproof_sweep{std::move(*read)};
        return WIREPROOF_OK;
    });
}

const char* wireproof_sweep_name(const wireproof_sweep* sweep) {
    return sweep != nullptr ? sweep->points.name().c_str() : "";
}

const char* wireproof_sweep_loss_trace(const wireproof_sweep* sweep) {
    return sweep != nullptr ? sweep->points.loss_trace().c_str() : "";
}

size_t wireproof_sweep_points(const wireproof_sweep* sweep) {
    return sweep != nullptr ? sweep->points.points() : 0;
}

uint64_t wireproof_sweep_seed(const wireproof_sweep* sweep) {
    return sweep != nullptr ? sweep->points.seed() : 0;
}

double wireproof_sweep_point_seconds(const wireproof_sweep* sweep) {
    return sweep != nullptr ? sweep->points.point_seconds() : 0;
}

wireproof_status wireproof_sweep_set_seed(wireproof_sweep* sweep, uint64_t seed) {
    if (sweep == nullptr) return WIREPROOF_BAD_ARGUMENT;
    sweep->points.set_seed(seed);
    return WIREPROOF_OK;
}

wireproof_status wireproof_sweep_set_packets(wireproof_sweep* sweep, uint64_t packets, char* why,
                                             size_t why_bytes) {
    return change(sweep, Why(why, why_bytes),
                  [packets](lab::PointSweep& points) { return points.set_packets(packets); });
}

wireproof_status wireproof_sweep_set_relative_error(wireproof_sweep* sweep, double relative_error,
                                                    char* why, size_t why_bytes) {
    return change(sweep, Why(why, why_bytes), [relative_error](lab::PointSweep& points) {
        return points.set_relative_error(relative_error);
    });
}

wireproof_status wireproof_sweep_set_loss_trace(wireproof_sweep* sweep, const char* text,
                                                size_t length, char* why, size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (text == nullptr && length != 0) return reason.bad("the text of the losses is NULL");
    return change(sweep, reason, [&](lab::PointSweep& points) {
        return points.set_loss_trace(std::string_view(text, length));
    });
}

wireproof_status wireproof_sweep_run(const wireproof_sweep* sweep, size_t point, uint32_t jump,
                                     wireproof_progress progress, void* user, char** json,
                                     char* why, size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (json == nullptr) return reason.bad("the pointer for the text is NULL");
    *json = nullptr;
    if (sweep == nullptr) return reason.bad("the sweep is NULL");
    if (jump > 1) return reason.bad("the value of jump has no meaning");
    return simulate(reason, [&]() -> wireproof_status {
        bool out_of_time = false;
        lab::PointSweepRun how{.jump = jump == 1};
        if (progress != nullptr) {
            how.progress = [&](double share) {
                const int answer = call_progress(progress, share, user);
                out_of_time = answer == WIREPROOF_STOP_POINT;
                if (!out_of_time && answer != WIREPROOF_GO_ON) throw Cancelled();
            };
            how.out_of_time = [&] { return out_of_time; };
        }
        const auto run = sweep->points.run(point, how);
        if (!run) return reason.fail(WIREPROOF_FAILED, run.error());
        *json = given_text(*run).release();
        return WIREPROOF_OK;
    });
}

wireproof_status wireproof_sweep_draw(const wireproof_sweep* sweep, const char* const* results,
                                      size_t count, char** svg, char* why, size_t why_bytes) {
    const Why reason(why, why_bytes);
    if (svg == nullptr) return reason.bad("the pointer for the picture is NULL");
    *svg = nullptr;
    if (sweep == nullptr) return reason.bad("the sweep is NULL");
    if (results == nullptr && count != 0) return reason.bad("the results are NULL");
    return reason.guard([&]() -> wireproof_status {
        std::vector<std::string> texts;
        for (std::size_t i = 0; i < count; ++i) {
            texts.emplace_back(results[i] != nullptr ? results[i] : "");
        }
        const auto drawn = sweep->points.draw(texts);
        if (!drawn) return reason.fail(WIREPROOF_FAILED, drawn.error());
        *svg = given_text(*drawn).release();
        return WIREPROOF_OK;
    });
}

void wireproof_sweep_free(wireproof_sweep* sweep) {
    delete sweep;
}

void wireproof_text_free(char* text) {
    std::free(text);
}
