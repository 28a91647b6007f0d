// The arguments of a simulation, from C to C++.
#pragma once

#include <string>

#include "wireproof/front/c/guard.hpp"
#include "wireproof/lab.hpp"
#include "wireproof/wireproof.h"

namespace wireproof::c {

struct Point {
    lab::PointSettings settings;
    lab::PointPlan plan;
};

/// Reads what the program gave. Returns OK, or writes to `why` what is wrong.
wireproof_status read_point(const wireproof_point_settings* settings,
                            const wireproof_point_plan* plan, Point& into, const Why& why);

/// How a progress function ends a simulation.
struct Cancelled {};
struct ProgressThrew {
    Text text;
};

/// Calls a progress function of the program and returns what it returned.
inline int call_progress(wireproof_progress progress, double share, void* user) {
    int answer = 0;
    ProgressThrew threw;
    if (!run_foreign([&] { answer = progress(share, user); },
                     [&](const char* text) { threw.text.set(text); })) {
        throw threw;
    }
    return answer;
}

/// Runs a simulation whose plan may have a progress function.
template <class Run>
wireproof_status simulate(const Why& why, Run&& run) {
    return why.guard([&]() -> wireproof_status {
        try {
            return run();
        } catch (const Cancelled&) {
            return why.fail(WIREPROOF_CANCELLED, "the progress function stopped the simulation");
        } catch (const ProgressThrew& threw) {
            return why.fail(WIREPROOF_HANDLER_THREW, threw.text.c_str());
        }
    });
}

}  // namespace wireproof::c
